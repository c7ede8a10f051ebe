/* Comparing what a kernel wrote with what was expected. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "runner.h"

static bool is_float(ingot_scalar_type scalar) {
    return scalar == INGOT_SCALAR_F32 || scalar == INGOT_SCALAR_F16 || scalar == INGOT_SCALAR_BF16;
}

static double value_of(ingot_scalar_type scalar, const uint8_t *bytes) {
    float single;
    uint16_t half;
    if (scalar == INGOT_SCALAR_F32) {
        memcpy(&single, bytes, 4);
        return (double)single;
    }
    memcpy(&half, bytes, 2);
    return scalar == INGOT_SCALAR_F16 ? ig_half_value(half) : ig_bfloat_value(half);
}

/* The distance of neighbouring numbers at `value` in the scalar's format. */
static double unit(ingot_scalar_type scalar, double value) {
    int fraction = scalar == INGOT_SCALAR_F32 ? 23 : (scalar == INGOT_SCALAR_F16 ? 10 : 7);
    int lowest = scalar == INGOT_SCALAR_F16 ? -14 : -126;
    int exponent = lowest;
    if (value != 0) {
        frexp(value, &exponent);
    }
    exponent -= value != 0;
    return ldexp(1, (exponent < lowest ? lowest : exponent) - fraction);
}

static bool agree(const struct expectation *x, const uint8_t *got, const uint8_t *want) {
    size_t width = ig_scalar_size(x->data.scalar);
    if (!memcmp(got, want, width)) {
        return true;
    }
    if (!is_float(x->data.scalar) || x->bits) {
        return false;
    }
    double a = value_of(x->data.scalar, got), b = value_of(x->data.scalar, want);
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    if (a == b) {
        return true;
    }
    if (isinf(a) || isinf(b)) {
        return false;
    }
    double difference = fabs(a - b);
    return difference <= x->absolute + x->relative * fabs(b) ||
           difference <= x->ulp * unit(x->data.scalar, b);
}

void test_print_values(const struct array *array, const uint8_t *bytes, size_t from, size_t limit,
                       struct ig_text *out) {
    size_t width = ig_scalar_size(array->scalar);
    for (size_t i = from; i < array->count && i < from + limit; i++) {
        char text[64];
        ig_scalar_print(array->scalar, bytes + i * width, text, sizeof text);
        ig_text_printf(out, "%s%s", i == from ? "" : " ", text);
    }
    if (from + limit < array->count) {
        ig_text_puts(out, " …");
    }
}

bool test_compare(const struct expectation *x, const uint8_t *got, struct ig_text *report) {
    size_t width = ig_scalar_size(x->data.scalar), wrong = 0, first = 0;
    for (size_t i = 0; i < x->data.count; i++) {
        if (!agree(x, got + i * width, x->data.bytes + i * width)) {
            if (!wrong++) {
                first = i;
            }
        }
    }
    if (!wrong) {
        return true;
    }
    size_t from = first > 3 ? first - 3 : 0;
    ig_text_printf(report,
                   "  argument %u: %zu of %zu values differ, the first at [%zu]; from [%zu] on\n"
                   "    got      ",
                   x->argument, wrong, x->data.count, first, from);
    test_print_values(&x->data, got, from, 12, report);
    ig_text_puts(report, "\n    expected ");
    test_print_values(&x->data, x->data.bytes, from, 12, report);
    ig_text_puts(report, "\n");
    return false;
}
