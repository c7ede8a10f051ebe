/* The beginning of a program that has the tools. */
#include <string.h>

#include "compiler/bundled/bundled.h"

/* -1: the command line asks for none. */
static int run_tool(int argc, char **argv) {
    static const struct {
        const char *word;
        igc_tool_fn *run;
    } tools[] = {{IGC_AS_CLANG, igc_bundled_clang}, {IGC_AS_LLD, igc_bundled_lld}};
    for (size_t i = 0; argc > 1 && i < sizeof tools / sizeof *tools; i++) {
        if (!strcmp(argv[1], tools[i].word)) {
            return tools[i].run(argc, argv);
        }
    }
    return -1;
}

int igc_bundled_start(int argc, char **argv) {
    int status = run_tool(argc, argv);
    if (status < 0) {
        igc_bundled_found(run_tool);
    }
    return status;
}
