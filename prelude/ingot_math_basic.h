/*
 * Rounding, comparison, decomposition, roots and remainders: functions that are exact or
 * correctly rounded, and the "common" functions of MSL.
 */
#pragma once
#include "ingot_math_bits.h"

/* name_precise and name_fast, the same expression for both. */
#define __INGOT_MATH_BOTH_1(name, expression)                                                      \
    __INGOT_MATH float __ingot_math_##name##_precise(float x) {                                    \
        return expression;                                                                         \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_##name##_fast(float x) {                                       \
        return expression;                                                                         \
    }
#define __INGOT_MATH_BOTH_2(name, expression)                                                      \
    __INGOT_MATH float __ingot_math_##name##_precise(float x, float y) {                           \
        return expression;                                                                         \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_##name##_fast(float x, float y) {                              \
        return expression;                                                                         \
    }
#define __INGOT_MATH_BOTH_3(name, expression)                                                      \
    __INGOT_MATH float __ingot_math_##name##_precise(float x, float y, float z) {                  \
        return expression;                                                                         \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_##name##_fast(float x, float y, float z) {                     \
        return expression;                                                                         \
    }

/* ---- rounding ------------------------------------------------------------------------ */
__INGOT_MATH_BOTH_1(abs, __builtin_fabsf(x))
__INGOT_MATH_BOTH_1(fabs, __builtin_fabsf(x))
__INGOT_MATH_BOTH_1(ceil, __builtin_ceilf(x))
__INGOT_MATH_BOTH_1(floor, __builtin_floorf(x))
__INGOT_MATH_BOTH_1(trunc, __builtin_truncf(x))
__INGOT_MATH_BOTH_1(rint, __builtin_rintf(x))
/* Halfway cases away from zero: the largest float below ½ keeps 0.49999997 at zero. */
__INGOT_MATH_BOTH_1(round, __builtin_truncf(x + __builtin_copysignf(0x1.fffffep-2f, x)))
__INGOT_MATH_BOTH_1(fract, __ingot_math_at_most(x - __builtin_floorf(x), 0x1.fffffep-1f))
__INGOT_MATH_BOTH_2(copysign, __builtin_copysignf(x, y))

__INGOT_MATH float __ingot_math_modf(float x, float *whole) {
    float t = __builtin_truncf(x);
    *whole = t;
    float rest = __ingot_math_abs(x) == __ingot_math_inf() ? 0.0f : x - t;
    return __ingot_math_sign_of(rest, x);
}

/* ---- comparison ---------------------------------------------------------------------- */
/* Precise: of a number and a NaN the number. Fast: one instruction, NaNs as they come. */
__INGOT_MATH float __ingot_math_fmax_precise(float x, float y) {
    return __builtin_fmaxf(x, y);
}
__INGOT_MATH float __ingot_math_fmin_precise(float x, float y) {
    return __builtin_fminf(x, y);
}
__INGOT_MATH float __ingot_math_fmax_fast(float x, float y) {
    return x > y ? x : y;
}
__INGOT_MATH float __ingot_math_fmin_fast(float x, float y) {
    return x < y ? x : y;
}
#define __INGOT_MATH_COMPARISONS(form)                                                             \
    __INGOT_MATH float __ingot_math_max_##form(float x, float y) {                                 \
        return __ingot_math_fmax_##form(x, y);                                                     \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_min_##form(float x, float y) {                                 \
        return __ingot_math_fmin_##form(x, y);                                                     \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_fmax3_##form(float x, float y, float z) {                      \
        return __ingot_math_fmax_##form(x, __ingot_math_fmax_##form(y, z));                        \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_fmin3_##form(float x, float y, float z) {                      \
        return __ingot_math_fmin_##form(x, __ingot_math_fmin_##form(y, z));                        \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_fmedian3_##form(float x, float y, float z) {                   \
        float low = __ingot_math_fmin_##form(x, y), high = __ingot_math_fmax_##form(x, y);         \
        return __ingot_math_fmax_##form(low, __ingot_math_fmin_##form(high, z));                   \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_max3_##form(float x, float y, float z) {                       \
        return __ingot_math_fmax3_##form(x, y, z);                                                 \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_min3_##form(float x, float y, float z) {                       \
        return __ingot_math_fmin3_##form(x, y, z);                                                 \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_median3_##form(float x, float y, float z) {                    \
        return __ingot_math_fmedian3_##form(x, y, z);                                              \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_clamp_##form(float x, float low, float high) {                 \
        return __ingot_math_fmin_##form(__ingot_math_fmax_##form(x, low), high);                   \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_saturate_##form(float x) {                                     \
        return __ingot_math_clamp_##form(x, 0.0f, 1.0f);                                           \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_smoothstep_##form(float x, float y, float z) {                 \
        float t = __ingot_math_saturate_##form((z - x) / (y - x));                                 \
        return t * t * __ingot_math_fma(-2.0f, t, 3.0f);                                           \
    }
__INGOT_MATH_COMPARISONS(precise)
__INGOT_MATH_COMPARISONS(fast)
#undef __INGOT_MATH_COMPARISONS

/* A zero keeps its sign; a NaN gives 0. */
__INGOT_MATH float __ingot_math_sign_precise(float x) {
    float one = __builtin_copysignf(1.0f, x);
    float r = x == 0.0f ? x : one;
    return x != x ? 0.0f : r;
}
__INGOT_MATH float __ingot_math_sign_fast(float x) {
    return __ingot_math_sign_precise(x);
}
__INGOT_MATH_BOTH_2(step, y < x ? 0.0f : 1.0f)
__INGOT_MATH_BOTH_3(mix, x + (y - x) * z)
__INGOT_MATH_BOTH_3(fma, __builtin_fmaf(x, y, z))
__INGOT_MATH_BOTH_2(divide, x / y)
__INGOT_MATH_BOTH_2(fdim, x <= y ? 0.0f : x - y)

/* ---- roots --------------------------------------------------------------------------- */
__INGOT_MATH_BOTH_1(sqrt, __builtin_sqrtf(x))
__INGOT_MATH float __ingot_math_rsqrt_fast(float x) {
    return 1.0f / __builtin_sqrtf(x);
}
/* Correctly rounded: a step of Halley's method on y = 1/√x, with the residual 1 − x·y² in extra
 * precision. Without the term in its square one mantissa would be rounded wrongly. */
__INGOT_MATH float __ingot_math_rsqrt_precise(float x) {
    float y = 1.0f / __builtin_sqrtf(x);
    float product = x * y;
    float product_low = __ingot_math_fma(x, y, -product);
    float residual = __ingot_math_fma(-product, y, 1.0f);
    residual = __ingot_math_fma(-product_low, y, residual);
    residual = __ingot_math_fma(0.75f * residual, residual, residual);
    float corrected = __ingot_math_fma(0.5f * y, residual, y);
    return __ingot_math_is_positive_finite(x) ? corrected : y;
}

/* ---- exponent and mantissa ----------------------------------------------------------- */
/* |x| = m · 2^e with m in [1, 2) as bits of a float with exponent 0 and e unbiased, subnormals
 * included; x neither 0, infinite nor NaN. */
struct __ingot_math_normal {
    unsigned fraction;
    int e;
};
__INGOT_MATH __ingot_math_normal __ingot_math_normalise(float x) {
    float a = __ingot_math_abs(x);
    bool subnormal = a < 0x1p-126f;
    unsigned bits = __ingot_math_bits(subnormal ? a * 0x1p24f : a);
    return {bits & 0x007fffffu, (int)(bits >> 23) - (subnormal ? 127 + 24 : 127)};
}
__INGOT_MATH bool __ingot_math_ordinary(float x) {
    return (__ingot_math_bits(x) & 0x7fffffffu) - 1u < 0x7f7fffffu;
}

__INGOT_MATH float __ingot_math_ldexp(float x, int k) {
    __ingot_math_normal parts = __ingot_math_normalise(x);
    k = k < -400 ? -400 : (k > 400 ? 400 : k);
    int e = parts.e + k;
    bool small = e < -126;
    e = small ? e + 64 : e;
    float after = small ? 0x1p-64f : 1.0f;
    /* The smallest result of rounding is decided at 2^-150; below 2^-126 · 2^-64 all is zero. */
    e = e < -126 ? -126 : e;
    float r = __ingot_math_float(((unsigned)(e + 127) << 23) | parts.fraction) * after;
    r = e > 127 ? __ingot_math_inf() : r;
    return __ingot_math_ordinary(x) ? __ingot_math_sign_of(r, x) : x;
}
__INGOT_MATH float __ingot_math_frexp(float x, int *exponent) {
    __ingot_math_normal parts = __ingot_math_normalise(x);
    bool ordinary = __ingot_math_ordinary(x);
    *exponent = ordinary ? parts.e + 1 : 0;
    float m = __ingot_math_float(0x3f000000u | parts.fraction);
    return ordinary ? __ingot_math_sign_of(m, x) : x;
}
/* Zero gives INT_MIN, an infinity INT_MAX and a NaN INT_MIN, as FP_ILOGB0 and FP_ILOGBNAN. */
__INGOT_MATH int __ingot_math_ilogb(float x) {
    int e = __ingot_math_normalise(x).e;
    int other = __ingot_math_abs(x) == __ingot_math_inf() ? 0x7fffffff : (int)0x80000000u;
    return __ingot_math_ordinary(x) ? e : other;
}
__INGOT_MATH float __ingot_math_nextafter_precise(float x, float y) {
    unsigned bits = __ingot_math_bits(x);
    bool away = (x < y) == ((int)bits >= 0); /* from zero */
    unsigned next = away ? bits + 1u : bits - 1u;
    next = x == 0.0f ? ((__ingot_math_bits(y) & 0x80000000u) | 1u) : next;
    float r = __ingot_math_float(next);
    r = x == y ? y : r;
    return ((x != x) | (y != y)) ? x + y : r;
}
__INGOT_MATH float __ingot_math_nextafter_fast(float x, float y) {
    return __ingot_math_nextafter_precise(x, y);
}

/* ---- remainder ----------------------------------------------------------------------- */
/* a mod b for a ≥ b > 0, exactly: mantissas as whole floats, 22 bits of quotient at a time. */
__INGOT_MATH float __ingot_math_long_remainder(float a, float b) {
    __ingot_math_normal pa = __ingot_math_normalise(a), pb = __ingot_math_normalise(b);
    float r = __ingot_math_float(0x4b000000u | pa.fraction);
    float divisor = __ingot_math_float(0x4b000000u | pb.fraction);
    int left = pa.e - pb.e;
    r = r >= divisor ? r - divisor : r;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 13; i++) {
        int step = left < 22 ? left : 22;
        r = r * __ingot_math_exp2i((unsigned)step);
        r = __ingot_math_fma(-__builtin_truncf(r / divisor), divisor, r);
        r = r < 0.0f ? r + divisor : r;
        left -= step;
    }
    return __ingot_math_ldexp(r, pb.e - 23);
}
__INGOT_MATH float __ingot_math_fmod_precise(float x, float y) {
    float a = __ingot_math_abs(x), b = __ingot_math_abs(y);
    float quotient = a / b;
    float r = __ingot_math_fma(-__builtin_truncf(quotient), b, a);
    r = r < 0.0f ? r + b : r;
    bool valid = (a < __ingot_math_inf()) & (b > 0.0f);
    if (valid & (b < __ingot_math_inf()) & !(quotient < 0x1p22f)) {
        r = __ingot_math_long_remainder(a, b);
    }
    r = a < b ? a : r; /* b may be infinite */
    return valid ? __ingot_math_sign_of(r, x) : __ingot_math_nan();
}
__INGOT_MATH float __ingot_math_fmod_fast(float x, float y) {
    return __ingot_math_fma(-__builtin_truncf(x / y), y, x);
}
