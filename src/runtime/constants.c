/* Function constants: values by name or index → the canonical text that names a variant. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/objects.h"

struct value {
    const struct ig_constant *constant;
    const ingot_constant *given;
};

static const struct ig_constant *find_constant(const struct ig_archive *archive,
                                               const ingot_constant *value) {
    for (uint32_t i = 0; i < archive->constant_count; i++) {
        const struct ig_constant *constant = &archive->constants[i];
        if (value->name ? !strcmp(value->name, constant->name) : value->index == constant->index) {
            return constant;
        }
    }
    return NULL;
}

static ingot_status unknown_constant(const struct ig_archive *archive, const ingot_constant *value,
                                     struct ig_error *error) {
    struct ig_text known = {0};
    for (uint32_t i = 0; i < archive->constant_count; i++) {
        ig_text_printf(&known, "%s%s (%u)", i ? ", " : "", archive->constants[i].name,
                       archive->constants[i].index);
    }
    if (archive->constant_count == 0) {
        ig_text_puts(&known, "none");
    }
    if (value->name) {
        ig_fail(error, INGOT_NOT_FOUND, "\"%s\" has no function constant \"%s\"; it has: %s",
                ig_archive_name(archive), value->name, ig_text_string(&known));
    } else {
        ig_fail(error, INGOT_NOT_FOUND, "\"%s\" has no function constant of index %u; it has: %s",
                ig_archive_name(archive), value->index, ig_text_string(&known));
    }
    ig_text_free(&known);
    return INGOT_NOT_FOUND;
}

static ingot_status resolve(const struct ig_archive *archive, const ingot_constant *value,
                            struct value *result, struct ig_error *error) {
    const struct ig_constant *constant = find_constant(archive, value);
    if (!constant) {
        return unknown_constant(archive, value, error);
    }
    if (!value->bytes || value->size != constant->size) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "function constant \"%s\" (index %u) has %u bytes, but %zu were given",
                       constant->name, constant->index, constant->size,
                       value->bytes ? value->size : (size_t)0);
    }
    result->constant = constant;
    result->given = value;
    return INGOT_OK;
}

static int by_index(const void *left, const void *right) {
    uint32_t a = ((const struct value *)left)->constant->index;
    uint32_t b = ((const struct value *)right)->constant->index;
    return (a > b) - (a < b);
}

static void append_value(struct ig_text *text, const struct value *value) {
    const uint8_t *bytes = value->given->bytes;
    bool is_bool = value->constant->scalar == INGOT_SCALAR_BOOL;
    ig_text_printf(text, "%s%u:", text->size ? ";" : "", value->constant->index);
    for (size_t i = 0; i < value->given->size; i++) {
        ig_text_printf(text, "%02x", is_bool ? bytes[i] != 0 : bytes[i]);
    }
}

ingot_status ig_constants_canonical(const struct ig_archive *archive, const ingot_constant *values,
                                    size_t count, struct ig_arena *arena, char **text,
                                    struct ig_error *error) {
    if (count && !values) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "constants is NULL, but its count is %zu",
                       count);
    }
    struct value *sorted = ig_arena_array(arena, count ? count : 1, sizeof *sorted);
    if (!sorted) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu function constants", count);
    }
    for (size_t i = 0; i < count; i++) {
        ingot_status status = resolve(archive, &values[i], &sorted[i], error);
        if (status != INGOT_OK) {
            return status;
        }
    }
    qsort(sorted, count, sizeof *sorted, by_index);
    struct ig_text canonical = {0};
    for (size_t i = 0; i < count; i++) {
        if (i && sorted[i].constant == sorted[i - 1].constant) {
            ig_text_free(&canonical);
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "function constant \"%s\" (index %u) was given twice",
                           sorted[i].constant->name, sorted[i].constant->index);
        }
        append_value(&canonical, &sorted[i]);
    }
    *text = canonical.failed ? NULL : ig_arena_string(arena, ig_text_string(&canonical));
    ig_text_free(&canonical);
    if (!*text) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu function constants", count);
    }
    return INGOT_OK;
}
