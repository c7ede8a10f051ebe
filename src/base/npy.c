/* Requires base/scalar and base/file. Provides reading and writing of .npy. Does not convert
 * types, byte orders or memory orders, and never trusts a length in the file. */
#include "base/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/scalar.h"
#include "base/text.h"

static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static const struct {
    char kind, size;
    ingot_scalar_type scalar;
} dtype_table[] = {
    {'f', '4', INGOT_SCALAR_F32}, {'f', '2', INGOT_SCALAR_F16},  {'i', '1', INGOT_SCALAR_I8},
    {'u', '1', INGOT_SCALAR_U8},  {'i', '2', INGOT_SCALAR_I16},  {'u', '2', INGOT_SCALAR_U16},
    {'i', '4', INGOT_SCALAR_I32}, {'u', '4', INGOT_SCALAR_U32},  {'i', '8', INGOT_SCALAR_I64},
    {'u', '8', INGOT_SCALAR_U64}, {'b', '1', INGOT_SCALAR_BOOL},
};
enum { DTYPE_COUNT = sizeof(dtype_table) / sizeof(dtype_table[0]) };

/* The header is a Python dictionary literal; this walks over it. */
struct cursor {
    const char *at, *end;
    const char *name;
    struct ig_error *error;
};

static void skip_space(struct cursor *c) {
    while (c->at < c->end &&
           (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) {
        c->at++;
    }
}

static bool take(struct cursor *c, char wanted) {
    skip_space(c);
    if (c->at >= c->end || *c->at != wanted) {
        return false;
    }
    c->at++;
    return true;
}

static ingot_status malformed(struct cursor *c, const char *wanted) {
    return ig_fail(c->error, INGOT_INVALID_ARGUMENT,
                   "%s: the .npy header is malformed (expected %s)", c->name, wanted);
}

/* A string in single or double quotes, without escapes. */
static ingot_status take_string(struct cursor *c, const char **text, size_t *length,
                                const char *what) {
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) {
        return malformed(c, what);
    }
    char quote = *c->at++;
    *text = c->at;
    while (c->at < c->end && *c->at != quote) {
        c->at++;
    }
    if (c->at >= c->end) {
        return malformed(c, "a closing quote");
    }
    *length = (size_t)(c->at - *text);
    c->at++;
    return INGOT_OK;
}

static ingot_status parse_dtype(struct cursor *c, struct ig_npy *array) {
    const char *text = NULL;
    size_t length = 0;
    skip_space(c);
    if (c->at < c->end && *c->at == '[') {
        return ig_fail(c->error, INGOT_UNSUPPORTED,
                       "%s: holds a structured dtype; only plain arrays can be read", c->name);
    }
    ingot_status status = take_string(c, &text, &length, "a dtype such as '<f4'");
    if (status) {
        return status;
    }
    int shown = length > 32 ? 32 : (int)length;
    char order = length ? text[0] : 0;
    if (length == 2 && text[1] == 'O') {
        return ig_fail(c->error, INGOT_UNSUPPORTED,
                       "%s: holds Python objects (dtype '%.*s'); only plain numbers can be read",
                       c->name, shown, text);
    }
    if (order == '>') {
        return ig_fail(c->error, INGOT_UNSUPPORTED,
                       "%s: is big-endian (dtype '%.*s'); save it with "
                       "array.astype(array.dtype.newbyteorder('<'))",
                       c->name, shown, text);
    }
    if (length == 3 && (order == '<' || order == '|' || order == '=')) {
        for (int i = 0; i < DTYPE_COUNT; i++) {
            if (dtype_table[i].kind == text[1] && dtype_table[i].size == text[2]) {
                array->scalar = dtype_table[i].scalar;
                return INGOT_OK;
            }
        }
        if (text[1] == 'f' && text[2] == '8') {
            return ig_fail(c->error, INGOT_UNSUPPORTED,
                           "%s: holds float64 (dtype '%.*s'), which Metal does not have; save it "
                           "with array.astype('float32')",
                           c->name, shown, text);
        }
    }
    return ig_fail(c->error, INGOT_UNSUPPORTED,
                   "%s: dtype '%.*s' cannot be read; f4 f2 i1 u1 i2 u2 i4 u4 i8 u8 b1 can", c->name,
                   shown, text);
}

static ingot_status parse_order(struct cursor *c) {
    skip_space(c);
    size_t left = (size_t)(c->end - c->at);
    if (left >= 5 && !memcmp(c->at, "False", 5)) {
        c->at += 5;
        return INGOT_OK;
    }
    if (left >= 4 && !memcmp(c->at, "True", 4)) {
        return ig_fail(c->error, INGOT_UNSUPPORTED,
                       "%s: is in Fortran order; save it with numpy.ascontiguousarray(array)",
                       c->name);
    }
    return malformed(c, "True or False for fortran_order");
}

static ingot_status parse_extent(struct cursor *c, uint64_t *extent) {
    uint64_t value = 0;
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        unsigned digit = (unsigned)(*c->at - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10) {
            return ig_fail(c->error, INGOT_INVALID_ARGUMENT,
                           "%s: an extent of its shape does not fit into 63 bits", c->name);
        }
        value = value * 10 + digit;
        c->at++;
    }
    if (c->at == start) {
        return malformed(c, "a number in the shape");
    }
    *extent = value;
    return INGOT_OK;
}

static ingot_status parse_shape(struct cursor *c, struct ig_npy *array) {
    if (!take(c, '(')) {
        return malformed(c, "a shape such as (2, 3)");
    }
    array->rank = 0;
    while (!take(c, ')')) {
        if (array->rank == IG_NPY_MAX_RANK) {
            return ig_fail(c->error, INGOT_UNSUPPORTED, "%s: has more than %d dimensions", c->name,
                           IG_NPY_MAX_RANK);
        }
        skip_space(c);
        ingot_status status = parse_extent(c, &array->shape[array->rank]);
        if (status) {
            return status;
        }
        array->rank++;
        if (!take(c, ',')) {
            if (take(c, ')')) {
                return INGOT_OK;
            }
            return malformed(c, "a comma or ) in the shape");
        }
    }
    return INGOT_OK;
}

static ingot_status parse_header(struct cursor *c, struct ig_npy *array) {
    bool seen[3] = {false, false, false};
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    if (!take(c, '{')) {
        return malformed(c, "{");
    }
    while (!take(c, '}')) {
        const char *key = NULL;
        size_t length = 0;
        ingot_status status = take_string(c, &key, &length, "a key");
        if (status) {
            return status;
        }
        if (!take(c, ':')) {
            return malformed(c, "a colon after a key");
        }
        int which = 0;
        while (which < 3 && (strlen(keys[which]) != length || memcmp(keys[which], key, length))) {
            which++;
        }
        if (which == 3) {
            return malformed(c, "only the keys descr, fortran_order and shape");
        }
        if (seen[which]) {
            return malformed(c, "each key once");
        }
        seen[which] = true;
        status = which == 0   ? parse_dtype(c, array)
                 : which == 1 ? parse_order(c)
                              : parse_shape(c, array);
        if (status) {
            return status;
        }
        if (!take(c, ',')) {
            if (take(c, '}')) {
                break;
            }
            return malformed(c, "a comma or }");
        }
    }
    for (int i = 0; i < 3; i++) {
        if (!seen[i]) {
            return malformed(c, keys[i]);
        }
    }
    return INGOT_OK;
}

/* Fills in count and data, and checks that the file really holds them. */
static ingot_status check_data(const uint8_t *data, size_t available, const char *name,
                               struct ig_npy *array, struct ig_error *error) {
    size_t width = ig_scalar_size(array->scalar);
    uint64_t count = 1;
    bool empty = false, absurd = false;
    for (uint32_t i = 0; i < array->rank; i++) {
        if (array->shape[i] == 0) {
            empty = true;
        } else if (count > UINT64_MAX / 16 / array->shape[i]) {
            absurd = true;
        } else {
            count *= array->shape[i];
        }
    }
    array->count = empty ? 0 : count;
    char shape[128];
    ig_npy_shape_text(array, shape, sizeof shape);
    if (absurd && !empty) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s: its shape %s has more elements than memory can hold", name, shape);
    }
    uint64_t needed = array->count * width;
    if (needed > available) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s: is cut short: shape %s of %s needs %" PRIu64
                       " bytes of data, but %zu are there",
                       name, shape, ig_scalar_name(array->scalar), needed, available);
    }
    if (needed < available) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s: shape %s of %s needs %" PRIu64 " bytes of data, but %zu are there",
                       name, shape, ig_scalar_name(array->scalar), needed, available);
    }
    array->data = data;
    array->data_size = (size_t)needed;
    return INGOT_OK;
}

ingot_status ig_npy_parse(const void *bytes, size_t size, const char *name, struct ig_npy *array,
                          struct ig_error *error) {
    const uint8_t *b = bytes;
    memset(array, 0, sizeof *array);
    if (size < 10 || memcmp(b, magic, sizeof magic)) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s: is not a .npy file", name);
    }
    size_t start, length;
    if (b[6] == 1) {
        start = 10;
        length = (size_t)b[8] | (size_t)b[9] << 8;
    } else if (b[6] == 2 || b[6] == 3) {
        if (size < 12) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s: its header is cut short", name);
        }
        start = 12;
        length = (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    } else {
        return ig_fail(error, INGOT_UNSUPPORTED,
                       "%s: is .npy version %u.%u; versions 1.0 to 3.0 can be read", name, b[6],
                       b[7]);
    }
    if (length > size - start) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "%s: its header is cut short: %zu bytes, but only %zu are there", name,
                       length, size - start);
    }
    struct cursor c = {(const char *)b + start, (const char *)b + start + length, name, error};
    ingot_status status = parse_header(&c, array);
    if (status) {
        return status;
    }
    return check_data(b + start + length, size - start - length, name, array, error);
}

ingot_status ig_npy_read(const char *path, struct ig_npy *array, void **storage,
                         struct ig_error *error) {
    char *bytes;
    size_t size;
    *storage = NULL;
    ingot_status status = ig_file_read(path, (size_t)64 << 30, &bytes, &size, error);
    if (status) {
        return status;
    }
    status = ig_npy_parse(bytes, size, path, array, error);
    if (status) {
        free(bytes);
    } else {
        *storage = bytes;
    }
    return status;
}

void ig_npy_shape_text(const struct ig_npy *array, char *out, size_t size) {
    size_t used = 0;
    if (size == 0) {
        return;
    }
    for (uint32_t i = 0; i < array->rank && used < size; i++) {
        int n = snprintf(out + used, size - used, "%s%" PRIu64, i ? ", " : "(", array->shape[i]);
        if (n < 0) {
            break;
        }
        used += (size_t)n;
    }
    if (used < size) {
        snprintf(out + used, size - used, "%s",
                 array->rank == 0 ? "()" : (array->rank == 1 ? ",)" : ")"));
    }
}

ingot_status ig_npy_write(const char *path, const struct ig_npy *array, struct ig_error *error) {
    ingot_scalar_type scalar =
        array->scalar == INGOT_SCALAR_BF16 ? INGOT_SCALAR_U16 : array->scalar;
    int which = 0;
    while (which < DTYPE_COUNT && dtype_table[which].scalar != scalar) {
        which++;
    }
    if (which == DTYPE_COUNT) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s: a .npy file cannot hold %s", path,
                       ig_scalar_name(scalar));
    }
    char shape[IG_NPY_MAX_RANK * 24];
    ig_npy_shape_text(array, shape, sizeof shape);
    struct ig_text file = {0};
    ig_text_append(&file, magic, sizeof magic);
    ig_text_append(&file, "\1\0\0\0", 4);
    ig_text_printf(&file, "{'descr': '%c%c%c', 'fortran_order': False, 'shape': %s, }",
                   dtype_table[which].size == '1' ? '|' : '<', dtype_table[which].kind,
                   dtype_table[which].size, shape);
    while ((file.size + 1) % 64 && !file.failed) {
        ig_text_puts(&file, " ");
    }
    ig_text_puts(&file, "\n");
    size_t header = file.size - 10;
    ig_text_append(&file, array->data, array->data_size);
    ingot_status status;
    if (file.failed) {
        status = ig_fail(error, INGOT_OUT_OF_MEMORY, "%s: out of memory for %zu bytes", path,
                         array->data_size);
    } else {
        file.data[8] = (char)(header & 255);
        file.data[9] = (char)(header >> 8);
        status = ig_file_write(path, file.data, file.size, error);
    }
    ig_text_free(&file);
    return status;
}
