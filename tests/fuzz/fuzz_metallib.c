/* Any bytes into the reader of compiled Metal libraries, and into the search for them in other
 * files. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/metallib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const struct ig_metallib *library) {
    size_t total = 0;
    for (size_t i = 0; i < library->function_count; i++) {
        const struct ig_metallib_function *f = &library->functions[i];
        total += strlen(f->name) + strlen(ig_metallib_type_name(f->type));
        for (size_t b = 0; b < f->module_size; b++) {
            total += ((const uint8_t *)f->module)[b];
        }
        for (size_t b = 0; f->digest && b < 32; b++) {
            total += f->digest[b];
        }
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_arena arena = {0};
    struct ig_metallib library;
    struct ig_error error = {0};
    if (!ig_metallib_read(&arena, data, size, &library, &error)) {
        if (touch(&library) == SIZE_MAX || ig_metallib_function(&library, "no such name")) {
            abort();
        }
    } else if (!*ig_error_text(&error)) {
        abort();
    }
    size_t at = 0, length = 0;
    if (!ig_metallib_find(data, size, &at, &length) &&
        (!ig_metallib_none(data, size, &error) || !*ig_error_text(&error))) {
        abort();
    }
    for (at = 0, length = 0; ig_metallib_find(data, size, &at, &length); at += length) {
        if (!length || at > size || length > size - at) {
            abort();
        }
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return 0;
}
