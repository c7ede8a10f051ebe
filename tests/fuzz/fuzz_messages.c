/* A preprocessed source, and behind a zero byte what clang might say of it: any text becomes
 * diagnostics with places in the source, or without. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/msl/clang.h"
#include "compiler/frontend/msl/rewriter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_PER_BYTE = 20000 }; /* a short line of clang's may quote a long one of the source's */

static void check_size(const struct ig_text *text, size_t size) {
    if (text->size > (size + 1) * MOST_PER_BYTE) {
        abort();
    }
}

static void translate(struct igc_source *source, const char *said, size_t size) {
    const char *cpp;
    size_t cpp_size;
    struct ig_error error = {0};
    struct ig_text errors = {0}, warnings = {0};
    if (!igc_source_rewrite(source, NULL, 0, &cpp, &cpp_size, &error)) {
        igc_find_long_shifts(source->rewriter, cpp, cpp_size, said, &warnings);
        igc_translate_diagnostics(source->rewriter, cpp, cpp_size, "/prelude", said, &errors,
                                  &warnings);
        igc_fail_for_warnings(ig_text_string(&warnings), &error);
    }
    check_size(&errors, size);
    check_size(&warnings, size);
    ig_text_free(&errors);
    ig_text_free(&warnings);
    ig_error_clear(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct igc_source source = {0};
    const struct igc_options options = {.source_name = "input.metal",
                                        .msl_version = 320,
                                        .prelude_dir = "/prelude",
                                        .root = "/sources"};
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    const size_t first = strlen(text);
    const char *said = first < size ? text + first + 1 : text;
    struct ig_text plain = {0};
    igc_format_diagnostics("input.metal", text, first, said, &plain);
    check_size(&plain, size);
    ig_text_free(&plain);
    if (!igc_kept_source(&arena, &options, text, first)) {
        abort();
    }
    if (!igc_source_open(&arena, &options, text, first, true, &source, &error)) {
        translate(&source, said, size);
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
    free(text);
    return 0;
}
