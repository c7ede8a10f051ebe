/*
 * Numbers: Python's float becomes float and int becomes long, as torch passes them, unless a cast
 * says otherwise. What arrives is compared with the type that the kernel declared:
 *  - one int for an integer of another width becomes that integer if it fits (on a Mac the kernel
 *    reads the low bytes of the long, which is the same number); strict libraries refuse it;
 *  - several ints for narrower integers, a float for an integer and an int for a float would be
 *    garbage, and are refused with both types named.
 */
#include "python/values.h"

#include <math.h>
#include <stdio.h>

#include "base/scalar.h"

const char *place_text(const struct target *target, char text[PLACE_SIZE]) {
    if (target->place) {
        return target->place;
    }
    int used =
        snprintf(text, PLACE_SIZE, "kernel \"%s\", argument %u", target->kernel, target->index);
    if (target->info && used > 0 && used < PLACE_SIZE) {
        snprintf(text + used, (size_t)(PLACE_SIZE - used), " \"%s\"", target->info->name);
    }
    return text;
}

/* ---- types ---- */

bool scalar_is_float(ingot_scalar_type type) {
    return type == INGOT_SCALAR_F16 || type == INGOT_SCALAR_BF16 || type == INGOT_SCALAR_F32;
}

unsigned scalar_size(ingot_scalar_type type) {
    return (unsigned)ig_scalar_size(type);
}

const char *scalar_name(ingot_scalar_type type) {
    static const char *const names[] = {
        [INGOT_SCALAR_NONE] = "struct", [INGOT_SCALAR_BOOL] = "bool",
        [INGOT_SCALAR_I8] = "char",     [INGOT_SCALAR_U8] = "uchar",
        [INGOT_SCALAR_I16] = "short",   [INGOT_SCALAR_U16] = "ushort",
        [INGOT_SCALAR_I32] = "int",     [INGOT_SCALAR_U32] = "uint",
        [INGOT_SCALAR_I64] = "long",    [INGOT_SCALAR_U64] = "ulong",
        [INGOT_SCALAR_F16] = "half",    [INGOT_SCALAR_BF16] = "bfloat",
        [INGOT_SCALAR_F32] = "float",
    };
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

static const struct {
    const char *name;
    ingot_scalar_type type;
} casts[] = {
    {"fp16", INGOT_SCALAR_F16},  {"bf16", INGOT_SCALAR_BF16}, {"int32", INGOT_SCALAR_I32},
    {"int16", INGOT_SCALAR_I16}, {"int8", INGOT_SCALAR_I8},   {"uint8", INGOT_SCALAR_U8},
};
#define CAST_COUNT (sizeof casts / sizeof casts[0])

ingot_scalar_type cast_find(const char *name) {
    for (size_t i = 0; i < CAST_COUNT; i++) {
        if (strcmp(casts[i].name, name) == 0) {
            return casts[i].type;
        }
    }
    return INGOT_SCALAR_NONE;
}

/* The cast that gives `size` bytes of such a kind, for hints; NULL if none. */
static const char *cast_for(ingot_scalar_type type) {
    switch (type) {
    case INGOT_SCALAR_F16:
        return "fp16";
    case INGOT_SCALAR_BF16:
        return "bf16";
    case INGOT_SCALAR_I32:
    case INGOT_SCALAR_U32:
        return "int32";
    case INGOT_SCALAR_I16:
    case INGOT_SCALAR_U16:
        return "int16";
    case INGOT_SCALAR_I8:
        return "int8";
    case INGOT_SCALAR_U8:
    case INGOT_SCALAR_BOOL:
        return "uint8";
    default:
        return NULL;
    }
}

/* ---- numbers ---- */

bool is_number(PyObject *object) {
    return PyFloat_Check(object) || PyLong_Check(object);
}

bool number_from(PyObject *object, const struct target *where, struct number *number) {
    *number = (struct number){0};
    if (PyFloat_Check(object)) {
        number->real = PyFloat_AsDouble(object);
        return !PyErr_Occurred();
    }
    if (!PyLong_Check(object)) {
        PyObject *type = (PyObject *)Py_TYPE(object);
        raise_argument("%s: a number is needed, not %R", PLACE(where), type);
        return false;
    }
    number->is_integer = true;
    int overflow = 0;
    number->whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow > 0) {
        number->is_large = true;
        number->whole = (int64_t)PyLong_AsUnsignedLongLong(object);
    }
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        PyObject *text = shown(object);
        raise_error(INGOT_INVALID_ARGUMENT, "%s: %V does not fit 64 bits", PLACE(where), text,
                    "the number");
        Py_XDECREF(text);
        return false;
    }
    number->real = number->is_large ? (double)(uint64_t)number->whole : (double)number->whole;
    return true;
}

static bool integer_fits(ingot_scalar_type type, const struct number *number) {
    unsigned bits = type == INGOT_SCALAR_BOOL ? 1 : scalar_size(type) * 8;
    bool is_signed = type == INGOT_SCALAR_I8 || type == INGOT_SCALAR_I16 ||
                     type == INGOT_SCALAR_I32 || type == INGOT_SCALAR_I64;
    if (number->is_large) {
        return !is_signed && bits == 64;
    }
    if (!is_signed) {
        return number->whole >= 0 && (bits >= 63 || number->whole < INT64_C(1) << bits);
    }
    return bits == 64 || (number->whole >= -(INT64_C(1) << (bits - 1)) &&
                          number->whole < INT64_C(1) << (bits - 1));
}

/* A double outside the range of an integer has no conversion in C: the nearest end is taken. */
static int64_t to_integer(double value) {
    if (isnan(value)) {
        return 0;
    }
    if (value <= -0x1p63) {
        return INT64_MIN;
    }
    return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

void number_cast(ingot_scalar_type type, const struct number *number, void *out) {
    float single = (float)number->real;
    if (type == INGOT_SCALAR_F32) {
        memcpy(out, &single, sizeof single);
    } else if (type == INGOT_SCALAR_F16 || type == INGOT_SCALAR_BF16) {
        uint16_t bits = type == INGOT_SCALAR_F16 ? ig_half_bits(single) : ig_bfloat_bits(single);
        memcpy(out, &bits, sizeof bits);
    } else {
        int64_t whole = number->is_integer ? number->whole : to_integer(number->real);
        if (type == INGOT_SCALAR_BOOL) {
            whole = whole != 0;
        }
        memcpy(out, &whole, scalar_size(type)); /* little endian: the low bytes */
    }
}

bool number_put(ingot_scalar_type type, const struct number *number, void *out) {
    if (!scalar_is_float(type) && (!number->is_integer || !integer_fits(type, number))) {
        return false;
    }
    number_cast(type, number, out);
    return true;
}

/* ---- for a kernel's argument ---- */

static const char *hint_text(const struct target *target, ingot_scalar_type wanted, char text[96]) {
    const char *cast = cast_for(wanted);
    text[0] = 0;
    if (cast) {
        snprintf(text, 96, "; write arg_casts={%u: \"%s\"}", target->index, cast);
    }
    return text;
}

static bool refuse_kind(const struct target *target, const char *given, size_t size) {
    char hint[96];
    raise_error(INGOT_LAUNCH_ERROR,
                "%s: %s of %zu bytes was given, but the kernel declares %s of %llu bytes%s",
                PLACE(target), given, size, target->info->type_name,
                (unsigned long long)target->info->type_size,
                hint_text(target, target->info->scalar, hint));
    return false;
}

bool check_given_type(const struct target *target, ingot_scalar_type given) {
    const ingot_argument_info *info = target->info;
    if (!info || info->scalar == INGOT_SCALAR_NONE || given == INGOT_SCALAR_NONE) {
        return true;
    }
    if (scalar_is_float(given) == scalar_is_float(info->scalar) &&
        scalar_size(given) == scalar_size(info->scalar) &&
        (!scalar_is_float(given) || given == info->scalar)) {
        return true;
    }
    return refuse_kind(target, scalar_name(given), scalar_size(given));
}

static size_t encode_with(ingot_scalar_type type, const struct number *numbers, size_t count,
                          unsigned char *out) {
    size_t size = scalar_size(type);
    for (size_t i = 0; i < count; i++) {
        number_cast(type, &numbers[i], out + i * size);
    }
    return count * size;
}

static size_t encode_cast(const struct target *target, const struct number *numbers, size_t count,
                          ingot_scalar_type cast, unsigned char *out) {
    const ingot_argument_info *info = target->info;
    for (size_t i = 0; i < count; i++) {
        if (scalar_is_float(cast) || !numbers[i].is_integer || numbers[i].is_large) {
            continue;
        }
        /* Both the signed and the unsigned reading are fine: only the bits travel. */
        int64_t top = INT64_C(1) << (scalar_size(cast) * 8);
        if (numbers[i].whole >= -(top / 2) && numbers[i].whole < top) {
            continue;
        }
        raise_error(INGOT_INVALID_ARGUMENT, "%s: %lld does not fit the %u bits of its cast",
                    PLACE(target), (long long)numbers[i].whole, scalar_size(cast) * 8);
        return 0;
    }
    if (info && info->scalar != INGOT_SCALAR_NONE &&
        (scalar_is_float(cast) != scalar_is_float(info->scalar) ||
         scalar_size(cast) != scalar_size(info->scalar))) {
        raise_error(INGOT_LAUNCH_ERROR,
                    "%s: the cast gives %s of %u bytes, but the kernel declares %s, whose elements "
                    "have %u bytes",
                    PLACE(target), scalar_name(cast), scalar_size(cast), info->type_name,
                    scalar_size(info->scalar));
        return 0;
    }
    return encode_with(cast, numbers, count, out);
}

static size_t encode_integers(const struct target *target, const struct number *numbers,
                              size_t count, unsigned char *out) {
    const ingot_argument_info *info = target->info;
    ingot_scalar_type declared = info ? info->scalar : INGOT_SCALAR_NONE;
    if (declared == INGOT_SCALAR_NONE) {
        return encode_with(INGOT_SCALAR_I64, numbers, count, out);
    }
    if (scalar_is_float(declared)) {
        raise_error(INGOT_LAUNCH_ERROR,
                    "%s: an int, which is passed as a long of 8 bytes, was given, but the kernel "
                    "declares %s of %llu bytes; write it with a decimal point",
                    PLACE(target), info->type_name, (unsigned long long)info->type_size);
        return 0;
    }
    unsigned size = scalar_size(declared);
    if (size != 8 && (count > 1 || info->components > 1 || target->strict)) {
        char hint[96];
        raise_error(INGOT_LAUNCH_ERROR,
                    "%s: %zu bytes were given (%zu x int, each passed as a long of 8 bytes), but "
                    "the kernel declares %s of %llu bytes%s",
                    PLACE(target), count * 8, count, info->type_name,
                    (unsigned long long)info->type_size, hint_text(target, declared, hint));
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (number_put(declared, &numbers[i], out + i * size)) {
            continue;
        }
        if (size == 8) { /* a negative number for a ulong: the bits, as on a Mac */
            number_cast(declared, &numbers[i], out + i * size);
            continue;
        }
        raise_error(INGOT_INVALID_ARGUMENT, "%s: %lld does not fit %s, which has %u bytes",
                    PLACE(target), (long long)numbers[i].whole, info->type_name, size);
        return 0;
    }
    return count * size;
}

static size_t encode_floats(const struct target *target, const struct number *numbers, size_t count,
                            unsigned char *out) {
    if (!check_given_type(target, INGOT_SCALAR_F32)) {
        return 0;
    }
    return encode_with(INGOT_SCALAR_F32, numbers, count, out);
}

size_t values_encode(const struct target *target, const struct number *numbers, size_t count,
                     ingot_scalar_type cast, unsigned char *out) {
    if (cast != INGOT_SCALAR_NONE) {
        return encode_cast(target, numbers, count, cast, out);
    }
    return numbers[0].is_integer ? encode_integers(target, numbers, count, out)
                                 : encode_floats(target, numbers, count, out);
}
