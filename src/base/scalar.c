/* Requires nothing. Provides names, sizes and conversions of scalar types. Does not know about
 * vectors, structs or arrays. */
#include "base/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t size;
} scalar_table[] = {
    [INGOT_SCALAR_NONE] = {"none", 0}, [INGOT_SCALAR_BOOL] = {"bool", 1},
    [INGOT_SCALAR_I8] = {"i8", 1},     [INGOT_SCALAR_U8] = {"u8", 1},
    [INGOT_SCALAR_I16] = {"i16", 2},   [INGOT_SCALAR_U16] = {"u16", 2},
    [INGOT_SCALAR_I32] = {"i32", 4},   [INGOT_SCALAR_U32] = {"u32", 4},
    [INGOT_SCALAR_I64] = {"i64", 8},   [INGOT_SCALAR_U64] = {"u64", 8},
    [INGOT_SCALAR_F16] = {"f16", 2},   [INGOT_SCALAR_BF16] = {"bf16", 2},
    [INGOT_SCALAR_F32] = {"f32", 4},
};
enum { SCALAR_COUNT = sizeof(scalar_table) / sizeof(scalar_table[0]) };

size_t ig_scalar_size(ingot_scalar_type type) {
    return (unsigned)type < SCALAR_COUNT ? scalar_table[type].size : 0;
}

const char *ig_scalar_name(ingot_scalar_type type) {
    return (unsigned)type < SCALAR_COUNT ? scalar_table[type].name : "none";
}

ingot_scalar_type ig_scalar_find(const char *name, size_t length) {
    for (int i = 1; i < SCALAR_COUNT; i++) {
        if (strlen(scalar_table[i].name) == length && !memcmp(scalar_table[i].name, name, length)) {
            return (ingot_scalar_type)i;
        }
    }
    return INGOT_SCALAR_NONE;
}

/* Rounds |value| to a small binary format with `fraction` stored bits and exponents from
 * `lowest` (that of the smallest normal number) to `highest`. */
static uint16_t round_to_bits(double value, int fraction, int lowest, int highest) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 63 << 15);
    uint16_t infinity = (uint16_t)((highest - lowest + 2) << fraction);
    if (isnan(value)) {
        return (uint16_t)(sign | infinity | 1u << (fraction - 1));
    }
    double magnitude = fabs(value);
    if (isinf(magnitude)) {
        return sign | infinity;
    }
    if (magnitude == 0) {
        return sign;
    }
    int exponent;
    frexp(magnitude, &exponent);
    exponent -= 1;
    int quantum = (exponent < lowest ? lowest : exponent) - fraction;
    double steps = ldexp(magnitude, -quantum); /* exact: a double has more bits */
    uint32_t result = (uint32_t)steps;
    double rest = steps - result;
    if (rest > 0.5 || (rest == 0.5 && (result & 1))) {
        result++;
    }
    if (exponent >= lowest) { /* steps is 2^fraction to 2^(fraction+1) */
        result += (uint32_t)(exponent - lowest) << fraction;
    }
    return result >= infinity ? (uint16_t)(sign | infinity) : (uint16_t)(sign | result);
}

static double value_of_bits(uint16_t bits, int fraction, int lowest, int highest) {
    int exponent = (bits & 0x7fff) >> fraction;
    int mantissa = bits & ((1 << fraction) - 1);
    double value;
    if (exponent == highest - lowest + 2) {
        value = mantissa ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        value = ldexp(mantissa, lowest - fraction);
    } else {
        value = ldexp(mantissa + (1 << fraction), exponent - 1 + lowest - fraction);
    }
    return bits & 0x8000 ? -value : value;
}

uint16_t ig_half_bits(double value) {
    return round_to_bits(value, 10, -14, 15);
}

uint16_t ig_bfloat_bits(double value) {
    return round_to_bits(value, 7, -126, 127);
}

double ig_half_value(uint16_t bits) {
    return value_of_bits(bits, 10, -14, 15);
}

double ig_bfloat_value(uint16_t bits) {
    return value_of_bits(bits, 7, -126, 127);
}

static ingot_status parse_float(ingot_scalar_type type, const char *text, void *out,
                                struct ig_error *error) {
    char *end;
    bool too_large; /* a finite number that would become infinite */
    errno = 0;
    if (type == INGOT_SCALAR_F32) {
        float value = strtof(text, &end);
        too_large = isinf(value) && errno == ERANGE;
        memcpy(out, &value, 4);
    } else {
        bool half = type == INGOT_SCALAR_F16;
        double value = strtod(text, &end);
        uint16_t bits = half ? ig_half_bits(value) : ig_bfloat_bits(value);
        bool infinite = isinf(half ? ig_half_value(bits) : ig_bfloat_value(bits));
        too_large = infinite && (!isinf(value) || errno == ERANGE);
        memcpy(out, &bits, 2);
    }
    if (*end == 'f' && end != text) { /* 1.5f */
        end++;
    }
    if (*end || end == text) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "\"%s\" is not a number (expected %s)", text,
                       ig_scalar_name(type));
    }
    if (too_large) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s does not fit into %s", text,
                       ig_scalar_name(type));
    }
    return INGOT_OK;
}

static ingot_status parse_integer(ingot_scalar_type type, const char *text, void *out,
                                  struct ig_error *error) {
    char *end;
    errno = 0;
    bool negative = text[0] == '-';
    bool is_signed = type == INGOT_SCALAR_I8 || type == INGOT_SCALAR_I16 ||
                     type == INGOT_SCALAR_I32 || type == INGOT_SCALAR_I64;
    unsigned bits = (unsigned)(8 * ig_scalar_size(type));
    uint64_t value, lowest, highest;
    if (negative) {
        value = (uint64_t)strtoll(text, &end, 0);
    } else {
        value = strtoull(text, &end, 0);
    }
    while (end != text && (*end == 'u' || *end == 'U' || *end == 'l' || *end == 'L')) {
        end++;
    }
    if (*end || end == text) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "\"%s\" is not a whole number (expected %s)",
                       text, ig_scalar_name(type));
    }
    highest = UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0));
    lowest = is_signed ? (uint64_t)0 - highest - 1 : 0;
    bool fits = negative ? is_signed && (int64_t)value >= (int64_t)lowest : value <= highest;
    if (negative && !is_signed && value == 0) {
        fits = true;
    }
    if (errno == ERANGE || !fits) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "%s does not fit into %s", text,
                       ig_scalar_name(type));
    }
    for (unsigned i = 0; i < bits / 8; i++) {
        ((uint8_t *)out)[i] = (uint8_t)(value >> 8 * i);
    }
    return INGOT_OK;
}

ingot_status ig_scalar_parse(ingot_scalar_type type, const char *text, size_t length, void *out,
                             struct ig_error *error) {
    char copy[128];
    if (length == 0) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "a value is missing (expected %s)",
                       ig_scalar_name(type));
    }
    if (length >= sizeof copy) {
        return ig_fail(error, INGOT_INVALID_ARGUMENT,
                       "a number of %zu characters (expected %s, of at most %zu)", length,
                       ig_scalar_name(type), sizeof copy - 1);
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    if (isspace((unsigned char)copy[0]) || copy[0] == '+') {
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "\"%s\" is not a number (expected %s)", copy,
                       ig_scalar_name(type));
    }
    switch (type) {
    case INGOT_SCALAR_F16:
    case INGOT_SCALAR_BF16:
    case INGOT_SCALAR_F32:
        return parse_float(type, copy, out, error);
    case INGOT_SCALAR_BOOL: {
        bool yes = !strcmp(copy, "1") || !strcmp(copy, "true");
        if (!yes && strcmp(copy, "0") && strcmp(copy, "false")) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "\"%s\" is not a bool (expected 0, 1, false or true)", copy);
        }
        *(uint8_t *)out = yes;
        return INGOT_OK;
    }
    case INGOT_SCALAR_NONE:
        return ig_fail(error, INGOT_INVALID_ARGUMENT, "no type for \"%s\"", copy);
    default:
        return parse_integer(type, copy, out, error);
    }
}

/* As few digits as still give the same float back. */
static int print_float(float value, char *out, size_t size) {
    for (int digits = 6;; digits++) {
        int length = snprintf(out, size, "%.*g", digits, (double)value);
        if (digits >= 9 || length < 0 || (size_t)length >= size || isnan(value) ||
            strtof(out, NULL) == value) {
            return length;
        }
    }
}

int ig_scalar_print(ingot_scalar_type type, const void *bytes, char *out, size_t size) {
    uint64_t bits = 0;
    size_t width = ig_scalar_size(type);
    for (size_t i = 0; i < width; i++) {
        bits |= (uint64_t)((const uint8_t *)bytes)[i] << 8 * i;
    }
    switch (type) {
    case INGOT_SCALAR_F32: {
        float value;
        memcpy(&value, bytes, 4);
        return print_float(value, out, size);
    }
    case INGOT_SCALAR_F16:
        return snprintf(out, size, "%.5g", ig_half_value((uint16_t)bits));
    case INGOT_SCALAR_BF16:
        return snprintf(out, size, "%.4g", ig_bfloat_value((uint16_t)bits));
    case INGOT_SCALAR_I8:
        return snprintf(out, size, "%d", (int)(int8_t)bits);
    case INGOT_SCALAR_I16:
        return snprintf(out, size, "%d", (int)(int16_t)bits);
    case INGOT_SCALAR_I32:
        return snprintf(out, size, "%d", (int)(int32_t)bits);
    case INGOT_SCALAR_I64:
        return snprintf(out, size, "%lld", (long long)bits);
    case INGOT_SCALAR_NONE:
        return snprintf(out, size, "?");
    default:
        return snprintf(out, size, "%llu", (unsigned long long)bits);
    }
}
