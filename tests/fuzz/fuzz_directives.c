/* What looks at a source's directives before clang does, and at clang's definitions behind it: is
 * the source one for the rewriter as it is, does it include what it may, and macros in the
 * arguments of pragmas. Files are not there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "compiler/frontend/msl/clang.h"
#include "compiler/frontend/msl/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_EXPANDED = 8192 }; /* bytes of a line */

/* Lines that begin with #define are definitions, others are expanded. */
static void expand(const char *text, size_t size) {
    struct igc_macros macros = {0};
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        struct ig_text out = {0};
        if (stop - line >= 8 && !memcmp(line, "#define ", 8)) {
            igc_macro_define(&macros, line, stop);
        } else if (line == text || line[-1] == '\n') {
            igc_macro_expand(&macros, line, stop, &out);
        }
        if (out.size > size + MOST_EXPANDED) {
            abort();
        }
        ig_text_free(&out);
        line = newline ? newline + 1 : end;
    }
    igc_macros_free(&macros);
}

/* The text of a compiled module: what is decoded is encoded to the same. */
static void decode(const char *text, size_t size) {
    char *bytes = malloc(size / 4 * 3 + 1), *again = malloc(ig_base64_size(size / 4 * 3) + 1);
    size_t decoded;
    if (bytes && again && ig_base64_decode(text, size, bytes, &decoded)) {
        ig_base64_encode(bytes, decoded, again);
        if (decoded > size / 4 * 3 || strlen(again) != size) {
            abort();
        }
    }
    free(bytes);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    const struct igc_options options = {.source_name = "/nowhere/input.metal",
                                        .msl_version = 320,
                                        .prelude_dir = "/nowhere/prelude"};
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    (void)igc_is_direct(&options, text, size);
    if (!memmem(text, size, "\"/", 2) && !memmem(text, size, "</", 2) &&
        igc_check_includes(&arena, &options, text, size, &error) && !*ig_error_text(&error)) {
        abort();
    }
    expand(text, size);
    decode(text, size);
    ig_error_clear(&error);
    ig_arena_free(&arena);
    free(text);
    return 0;
}
