/* The beginning of a program that has the tools. */
#include <string.h>

#include "compiler/bundled/bundled.h"

int igc_bundled_start(int argc, char **argv) {
    static const struct {
        const char *word;
        int (*run)(int argc, char **argv);
    } tools[] = {{IGC_AS_CLANG, igc_bundled_clang}, {IGC_AS_LLD, igc_bundled_lld}};
    for (size_t i = 0; argc > 1 && i < sizeof tools / sizeof *tools; i++) {
        if (!strcmp(argv[1], tools[i].word)) {
            return tools[i].run(argc, argv);
        }
    }
    igc_bundled_found();
    return -1;
}
