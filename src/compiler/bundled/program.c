/* Where the program is that has the tools. */
#include <unistd.h>

#include "compiler/bundled/bundled.h"

static char program[4096];

void igc_bundled_found(void) {
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
}

const char *igc_bundled_tools(void) {
    return program[0] ? program : NULL;
}
