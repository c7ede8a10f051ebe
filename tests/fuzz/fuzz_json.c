/* Any bytes into the reader of JSON: a tree, or a message with a place. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const struct ig_json_value *value) {
    size_t total = (value->key ? strlen(value->key) : 0) + (value->text ? strlen(value->text) : 0);
    for (const struct ig_json_value *v = value->first; v; v = v->next) {
        total += touch(v);
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ig_arena arena = {0};
    struct ig_json_value *value;
    struct ig_error error = {0};
    if (!ig_json_read(&arena, (const char *)data, size, &value, &error)) {
        if (touch(value) == SIZE_MAX) {
            abort();
        }
    } else if (!strstr(ig_error_text(&error), "line ")) {
        abort();
    }
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return 0;
}
