/* Arrays as directives write them: lists, formulas, hexadecimal bytes, and mixed bytes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "runner.h"

enum { MAX_COUNT = 1 << 22 };

void test_store(ingot_scalar_type scalar, long double value, void *out) {
    float single = (float)value;
    uint16_t half;
    uint64_t bits = 0;
    if (value >= 9223372036854775808.0L && value < 18446744073709551616.0L) {
        bits = (uint64_t)value;
    } else if (value > -9223372036854775809.0L && value < 9223372036854775808.0L) {
        bits = (uint64_t)(int64_t)value;
    }
    switch (scalar) {
    case INGOT_SCALAR_F32:
        memcpy(out, &single, 4);
        return;
    case INGOT_SCALAR_F16:
        half = ig_half_bits((double)value);
        memcpy(out, &half, 2);
        return;
    case INGOT_SCALAR_BF16:
        half = ig_bfloat_bits((double)value);
        memcpy(out, &half, 2);
        return;
    case INGOT_SCALAR_BOOL:
        *(uint8_t *)out = value != 0;
        return;
    default:
        for (size_t i = 0; i < ig_scalar_size(scalar); i++) {
            ((uint8_t *)out)[i] = (uint8_t)(bits >> 8 * i);
        }
    }
}

static ingot_status grow(struct ig_arena *arena, struct array *array, size_t count,
                         struct ig_error *error) {
    array->count = count;
    array->size = count * ig_scalar_size(array->scalar);
    array->bytes = ig_arena_alloc(arena, array->size + 8);
    return array->bytes ? INGOT_OK : ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
}

/* "[1 2, 3]": values separated by spaces, commas or line ends. */
static ingot_status parse_list(struct ig_arena *arena, const char **text, struct array *array,
                               struct ig_error *error) {
    static const char spaces[] = " \t\n,";
    const char *start = *text, *close = strchr(start, ']');
    if (!close) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "a list without ]");
    }
    size_t count = 0;
    for (const char *c = start + strspn(start, spaces); c < close; c += strspn(c, spaces)) {
        c += strcspn(c, " \t\n,]");
        count++;
    }
    ingot_status status = grow(arena, array, count, error);
    const char *c = start + strspn(start, spaces);
    for (size_t i = 0; !status && i < count; i++) {
        size_t length = strcspn(c, " \t\n,]");
        status = ig_scalar_parse(array->scalar, c, length,
                                 array->bytes + i * ig_scalar_size(array->scalar), error);
        c += length;
        c += strspn(c, spaces);
    }
    *text = close + 1;
    return status;
}

static ingot_status parse_formula(struct ig_arena *arena, const char **text, size_t count,
                                  struct array *array, struct ig_error *error) {
    const char *formula = *text;
    size_t width = ig_scalar_size(array->scalar);
    ingot_status status = grow(arena, array, count, error);
    for (size_t i = 0; !status && i < count; i++) {
        long double value;
        status = test_evaluate(formula, i, &value, text, error);
        if (!status) {
            test_store(array->scalar, value, array->bytes + i * width);
        }
    }
    return status;
}

static ingot_status parse_hex(struct ig_arena *arena, const char **text, struct array *array,
                              struct ig_error *error) {
    array->scalar = INGOT_SCALAR_U8;
    ingot_status status = grow(arena, array, strlen(*text) / 2 + 1, error);
    size_t count = 0;
    while (!status) {
        *text += strspn(*text, " \t");
        if (!isxdigit((unsigned char)(*text)[0]) || !isxdigit((unsigned char)(*text)[1])) {
            break;
        }
        char digits[3] = {(*text)[0], (*text)[1], 0};
        array->bytes[count++] = (uint8_t)strtoul(digits, NULL, 16);
        *text += 2;
    }
    array->count = array->size = count;
    return status;
}

/* "f32:1 u32:2 pad:4 addr:3" */
static ingot_status parse_mixed(struct ig_arena *arena, const char **text, struct array *array,
                                struct argument *argument, struct ig_error *error) {
    size_t room = 8 * strlen(*text) + 4096;
    array->scalar = INGOT_SCALAR_U8;
    ingot_status status = grow(arena, array, room, error);
    size_t used = 0;
    for (;;) {
        *text += strspn(*text, " \t\n");
        size_t word = strcspn(*text, ": ;");
        if (status || (*text)[word] != ':') {
            break;
        }
        const char *value = *text + word + 1;
        size_t length = strcspn(value, " \t\n;");
        ingot_scalar_type scalar = ig_scalar_find(*text, word);
        if (scalar) {
            status = ig_scalar_parse(scalar, value, length, array->bytes + used, error);
            used += ig_scalar_size(scalar);
        } else if (!strncmp(*text, "pad:", 4)) {
            used += strtoul(value, NULL, 10);
        } else if (!strncmp(*text, "addr:", 5) && argument && argument->address_count < 8) {
            argument->addresses[argument->address_count].at = used;
            argument->addresses[argument->address_count++].argument =
                (uint32_t)strtoul(value, NULL, 10);
            used += 8;
        } else {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "\"%.*s\" is not TYPE:VALUE", (int)word,
                           *text);
        }
        *text = value + length;
        if (used + 16 > room) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "more than %zu bytes", room);
        }
    }
    array->count = array->size = used;
    return status;
}

ingot_status test_array_parse(struct ig_arena *arena, const char *text, struct array *array,
                              struct argument *argument, bool *is_list, const char **tail,
                              struct ig_error *error) {
    text += strspn(text, " \t");
    size_t word = strcspn(text, " [=");
    const char *after = text + word + strspn(text + word, " \t");
    array->scalar = ig_scalar_find(text, word);
    *is_list = false;
    ingot_status status;
    bool value = false;
    if (!array->scalar && *after == '=' &&
        (!strncmp(text, "hex", 3) || !strncmp(text, "bytes", 5))) {
        bool hex = text[0] == 'h';
        text = after + 1;
        value = true;
        status = hex ? parse_hex(arena, &text, array, error)
                     : parse_mixed(arena, &text, array, argument, error);
    } else if (!array->scalar) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "\"%s\" does not start with a type", text);
    } else if (text[word] == '[') {
        char *end;
        unsigned long count = strtoul(text + word + 1, &end, 10);
        if (*end != ']' || count == 0 || count > MAX_COUNT) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT, "expected TYPE[COUNT] in \"%s\"", text);
        }
        text = end + 1 + strspn(end + 1, " \t");
        if (*text == '?' && argument) {
            argument->is_unwritten = true;
            text++;
        }
        if (*text == '=') {
            text++;
        } else {
            text = "0";
        }
        status = parse_formula(arena, &text, count, array, error);
    } else if (*after == '[') {
        text = after + 1;
        *is_list = true;
        status = parse_list(arena, &text, array, error);
    } else if (*after == '=') {
        text = after + 1;
        value = true;
        status = parse_formula(arena, &text, 1, array, error);
    } else {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "expected [ or = after the type in \"%s\"",
                       text);
    }
    if (argument) {
        argument->by_value = value;
    }
    if (status) {
        return status;
    }
    text += strspn(text, " \t\n");
    if (*text && *text != ';') {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "\"%s\" is left over", text);
    }
    *tail = text;
    return INGOT_OK;
}
