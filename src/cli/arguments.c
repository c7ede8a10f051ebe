/*
 * The arguments of `ingot run`:
 *
 *   in.npy  in.npy=out.npy           a buffer with the array's data; written afterwards
 *   f32[1024]  f32[4,256]=out.npy    a buffer of zeros; written afterwards
 *   f32[1024]?                       a buffer that nobody has written, for the sanitizer
 *   f32:0.5  u32:128  f32:1,2,3      values
 *   hex:0000803f                     raw bytes, as a struct needs them
 *   tg:4096                          bytes of threadgroup memory
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/npy.h"
#include "base/scalar.h"
#include "cli/cli.h"

static ingot_status parse_hex(struct ig_arena *arena, const char *digits, struct cli_argument *a,
                              struct ig_error *error) {
    size_t length = strlen(digits), count = 0;
    uint8_t *bytes = ig_arena_alloc(arena, length / 2 + 1);
    if (!bytes) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    int high = -1;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)digits[i];
        if (c == '_' || c == ' ') {
            continue;
        }
        if (!isxdigit(c)) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "argument %s: '%c' is not a hexadecimal digit", a->text, c);
        }
        int value = isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
        if (high < 0) {
            high = value;
        } else {
            bytes[count++] = (uint8_t)(high << 4 | value);
            high = -1;
        }
    }
    if (high >= 0 || count == 0) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "argument %s: expected two hexadecimal digits for each byte", a->text);
    }
    a->kind = CLI_ARGUMENT_VALUE;
    a->bytes = bytes;
    a->size = count;
    return INGOT_OK;
}

static ingot_status parse_values(struct ig_arena *arena, const char *values, struct cli_argument *a,
                                 struct ig_error *error) {
    size_t width = ig_scalar_size(a->scalar), count = 1;
    for (const char *c = values; *c; c++) {
        count += *c == ',';
    }
    uint8_t *bytes = ig_arena_array(arena, count, width);
    if (!bytes) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(values, ",");
        ingot_status status = ig_scalar_parse(a->scalar, values, length, bytes + i * width, error);
        if (status) {
            ig_error_prefix(error, "argument %s", a->text);
            return status;
        }
        values += length + 1;
    }
    a->kind = CLI_ARGUMENT_VALUE;
    a->rank = 1;
    a->shape[0] = count;
    a->bytes = bytes;
    a->size = count * width;
    return INGOT_OK;
}

/* "1024]" or "4,256]=out.npy" */
static ingot_status parse_zeros(const char *extents, struct cli_argument *a,
                                struct ig_error *error) {
    uint64_t size = ig_scalar_size(a->scalar);
    a->kind = CLI_ARGUMENT_ZEROS;
    for (;;) {
        char *end;
        errno = 0;
        unsigned long long extent = strtoull(extents, &end, 10);
        if (!isdigit((unsigned char)*extents) || errno || a->rank == 8) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "argument %s: expected a shape such as [1024] or [4,256]", a->text);
        }
        if (extent && size > ((uint64_t)1 << 46) / extent) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "argument %s: is larger than any buffer can be (64 TiB)", a->text);
        }
        a->shape[a->rank++] = extent;
        size *= extent;
        extents = end + 1;
        if (*end == ']') {
            break;
        }
        if (*end != ',' && *end != 'x') {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "argument %s: expected ] after the shape",
                           a->text);
        }
    }
    if (*extents == '?') {
        a->is_unwritten = true;
        extents++;
    }
    if (*extents == '=' && extents[1]) {
        a->output = extents + 1;
    } else if (*extents) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "argument %s: expected ?, =FILE.npy or nothing after ]", a->text);
    }
    if (size == 0) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "argument %s: has no elements", a->text);
    }
    a->size = size;
    return INGOT_OK;
}

static ingot_status parse_file(struct ig_arena *arena, struct cli_argument *a,
                               struct ig_error *error) {
    const char *path = a->text, *split = strstr(a->text, ".npy=");
    if (split) {
        path = ig_arena_copy(arena, a->text, (size_t)(split - a->text) + 4);
        if (!path) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
        }
        a->output = split + 5;
        if (!*a->output) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "argument %s: expected a file name after =", a->text);
        }
    }
    size_t length = strlen(path);
    if (length < 4 || strcmp(path + length - 4, ".npy")) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "argument %s: expected FILE.npy, TYPE[COUNT], TYPE:VALUES, hex:BYTES or "
                       "tg:BYTES; types are f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool",
                       a->text);
    }
    a->kind = CLI_ARGUMENT_FILE;
    struct ig_npy array;
    ingot_status status = ig_npy_read(path, &array, &a->storage, error);
    if (status) {
        return status;
    }
    a->scalar = array.scalar;
    a->rank = array.rank;
    memcpy(a->shape, array.shape, sizeof a->shape);
    a->bytes = array.data;
    a->size = array.data_size;
    if (a->size == 0) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s: has no elements", path);
    }
    return INGOT_OK;
}

ingot_status cli_parse_argument(struct ig_arena *arena, const char *text,
                                struct cli_argument *argument, struct ig_error *error) {
    *argument = (struct cli_argument){.text = text};
    size_t word = strcspn(text, ":[");
    if (text[word] == ':' && word == 2 && !strncmp(text, "tg", 2)) {
        char *end;
        errno = 0;
        argument->kind = CLI_ARGUMENT_THREADGROUP;
        argument->size = strtoull(text + 3, &end, 10);
        if (!isdigit((unsigned char)text[3]) || *end || errno || argument->size > UINT32_MAX) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "argument %s: expected a number of bytes, such as tg:4096", text);
        }
        return INGOT_OK;
    }
    if (text[word] == ':' && word == 3 && !strncmp(text, "hex", 3)) {
        return parse_hex(arena, text + 4, argument, error);
    }
    argument->scalar = ig_scalar_find(text, word);
    if (argument->scalar && text[word] == ':') {
        return parse_values(arena, text + word + 1, argument, error);
    }
    if (argument->scalar && text[word] == '[') {
        return parse_zeros(text + word + 1, argument, error);
    }
    argument->scalar = INGOT_SCALAR_NONE;
    return parse_file(arena, argument, error);
}
