/* The table of functions, and references for those the C library lacks. */
#include "accuracy.h"
#include "names.h"

#include <math.h>

static double reference_exp10(double x) {
    return exp10(x);
}

static double reference_fract(double x) {
    double r = x - floor(x);
    return r < 0x1.fffffep-1 ? r : isnan(r) ? r : 0x1.fffffep-1;
}

static double reference_rsqrt(double x) {
    return (double)(1.0L / sqrtl((long double)x));
}

static double reference_saturate(double x) {
    return fmin(fmax(x, 0.0), 1.0);
}

static double reference_sign(double x) {
    return isnan(x) ? 0.0 : x == 0.0 ? x : copysign(1.0, x);
}

static double reference_divide(double x, double y) {
    return x / y;
}

/* x − n/2 exactly, with n mod 4. */
static double reduce_half_turns(double x, int *quadrant) {
    double y = fmod(x, 2.0);
    double n = rint(2.0 * y);
    *quadrant = (int)n & 3;
    return y - 0.5 * n;
}

static double reference_sinpi(double x) {
    if (isinf(x)) {
        return NAN;
    }
    int quadrant = 0;
    double r = reduce_half_turns(x, &quadrant);
    double s = quadrant & 1 ? cos(M_PI * r) : sin(M_PI * r);
    s = quadrant & 2 ? -s : s;
    return s == 0.0 ? copysign(0.0, x) : s;
}

static double reference_cospi(double x) {
    if (isinf(x)) {
        return NAN;
    }
    int quadrant = 0;
    double r = reduce_half_turns(x, &quadrant);
    double c = quadrant & 1 ? -sin(M_PI * r) : cos(M_PI * r);
    return (quadrant & 2 ? -c : c) + 0.0;
}

static double reference_tanpi(double x) {
    return reference_sinpi(x) / reference_cospi(x);
}

/* exp(y · log x): undefined where that is. */
static double reference_powr(double x, double y) {
    if (x < 0.0 || isnan(x) || isnan(y) || (x == 1.0 && isinf(y)) ||
        (y == 0.0 && (x == 0.0 || isinf(x)))) {
        return NAN;
    }
    return pow(fabs(x), y);
}

#define UNARY(name, reference, precise, rule, fast, half, zero)                                    \
    {#name, 1, reference, NULL, precise, rule, fast, half, zero},
#define BINARY(name, reference, precise, rule, fast, half, zero)                                   \
    {#name, 2, NULL, reference, precise, rule, fast, half, zero},
const accuracy_function accuracy_functions[] = {ACCURACY_UNARY(UNARY) ACCURACY_BINARY(BINARY)};
const size_t accuracy_function_count = sizeof accuracy_functions / sizeof accuracy_functions[0];
