/* Any text into the lexer and the rewriter, as preprocessed Metal source. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_source source = {0};
    struct igc_options options = {.source_name = "input.metal", .msl_version = 320};
    char *text = malloc(size + 1); /* exactly as long as it is, so that reads past it show */
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    if (!igc_source_open(&arena, &options, text, size, true, &source, &error)) {
        const char *cpp;
        size_t cpp_size;
        if (source.kernel_count) {
            igc_source_rewrite(&source, source.kernels, 1, &cpp, &cpp_size, &error);
            ig_error_clear(&error);
        }
        igc_source_rewrite(&source, NULL, 0, &cpp, &cpp_size, &error);
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
    free(text);
    return 0;
}
