/* Where the program is that has the tools. */
#include <string.h>
#include <unistd.h>

#include "compiler/bundled/bundled.h"

static char program[4096];
static igc_tool_fn *run_tool;

void igc_bundled_found(igc_tool_fn *run) {
    run_tool = run;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
}

const char *igc_bundled_tools(void) {
    return program[0] ? program : NULL;
}

igc_tool_fn *igc_bundled_inside(const char *asked) {
    return program[0] && asked && !strcmp(asked, program) ? run_tool : NULL;
}
