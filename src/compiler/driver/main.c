/* ingotc: parses its arguments, runs the pipeline, prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/bundled/bundled.h"
#include "compiler/driver/driver.h"

enum { EXIT_OK = 0, EXIT_SOURCE = 1, EXIT_USAGE = 2, EXIT_ENVIRONMENT = 3 };

static int exit_code(ingot_status status) {
    switch (status) {
    case INGOT_OK:
        return EXIT_OK;
    case INGOT_INVALID_ARGUMENT:
        return EXIT_USAGE;
    case INGOT_NO_COMPILER:
    case INGOT_IO_ERROR:
    case INGOT_OUT_OF_MEMORY:
        return EXIT_ENVIRONMENT;
    default:
        return EXIT_SOURCE;
    }
}

static void print(const char *prefix, const char *text) {
    size_t length = strlen(text);
    if (length) {
        fprintf(stderr, "%s%s%s", prefix, text, text[length - 1] == '\n' ? "" : "\n");
    }
}

static void print_version(void) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    printf("ingotc %d.%d.%d, LLVM %u.%u.%u%s\n", INGOT_VERSION_MAJOR, INGOT_VERSION_MINOR,
           INGOT_VERSION_PATCH, major, minor, patch,
           igc_bundled_tools() ? ", clang and lld included" : "");
}

static double clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
#ifdef INGOT_BUNDLED_TOOLS
    int tool = igc_bundled_start(argc, argv);
    if (tool >= 0) {
        return tool;
    }
#endif
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_command command;
    const char *warnings = "";
    double start = clock_now();
    /* So that clang and the linker leave no files when they fail. */
    setenv("LLVM_DISABLE_SYMBOLIZATION", "1", 0);
    ingot_status status = igc_command_parse(&arena, argc, argv, &command, &error);
    if (!status) {
        status = ig_compile_limits(&command.front.limits, &error);
        ig_compile_limit_memory(&command.front.limits);
    }
    if (!status && command.help) {
        igc_print_usage(stdout);
    } else if (!status && command.passes) {
        igc_print_tables(stdout);
    } else if (!status && command.version) {
        print_version();
    } else if (!status) {
        if (command.time_report) {
            igc_time_start();
        }
        status = igc_run(&arena, &command, &warnings, &error);
        print("", warnings);
    }
    if (status) {
        /* clang's diagnostics say for themselves that they are errors */
        const char *text = ig_error_text(&error);
        print(strstr(text, "error: ") ? "" : "ingotc: error: ", text);
    }
    if (!status && command.time_report) {
        igc_time_print();
        fprintf(stderr, "%10.2f ms          by the clock\n", 1e3 * (clock_now() - start));
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return exit_code(status);
}
