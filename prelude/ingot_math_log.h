/*
 * Logarithms, powers and inverse hyperbolic functions.
 *
 * x = m · 2^e with m in [√½, √2), f = m − 1 (exact); log(1 + f) = f − f²/2 + f³·P(f), and the base
 * and e come in by multiply-adds with constants in two parts. pow carries log2 as a sum of two
 * floats from the series in s = f/(2 + f), because its error is multiplied by up to 128.
 */
#pragma once
#include "ingot_math_exp.h"

#define __INGOT_MATH_LOG2E_LO   0x1.4ae0c0p-26f
#define __INGOT_MATH_LOG10E     0x1.bcb7b2p-2f
#define __INGOT_MATH_LOG10E_LO  (-0x1.5b235ep-27f)
#define __INGOT_MATH_LOG10_2_HI 0x1.344136p-2f
#define __INGOT_MATH_LOG10_2_LO (-0x1.ec10c0p-27f)

/* log(1 + f) − f for 1 + f in [√½, √2); error 2^-27 of log(1 + f). */
__INGOT_MATH float __ingot_math_log_tail(float f) {
    float p = -0x1.38c96ep-4f;
    p = __ingot_math_fma(p, f, 0x1.055eb2p-3f);
    p = __ingot_math_fma(p, f, -0x1.0d8248p-3f);
    p = __ingot_math_fma(p, f, 0x1.22d930p-3f);
    p = __ingot_math_fma(p, f, -0x1.54728ap-3f);
    p = __ingot_math_fma(p, f, 0x1.99a01cp-3f);
    p = __ingot_math_fma(p, f, -0x1.000226p-2f);
    p = __ingot_math_fma(p, f, 0x1.555554p-2f);
    float square = f * f;
    return __ingot_math_fma(p * f, square, -0.5f * square);
}
/* The same with error 2^-22. */
__INGOT_MATH float __ingot_math_log_tail_fast(float f) {
    float p = -0x1.a175dep-4f;
    p = __ingot_math_fma(p, f, 0x1.482e38p-3f);
    p = __ingot_math_fma(p, f, -0x1.5ef7b4p-3f);
    p = __ingot_math_fma(p, f, 0x1.980db8p-3f);
    p = __ingot_math_fma(p, f, -0x1.ffa848p-3f);
    p = __ingot_math_fma(p, f, 0x1.5557bap-2f);
    p = __ingot_math_fma(p, f, -0.5f);
    return p * (f * f);
}

/* r where x is positive and finite; else what a logarithm of x is. */
__INGOT_MATH float __ingot_math_log_result(float x, float r) {
    r = x < __ingot_math_inf() ? r : x;
    float outside = x == 0.0f ? -__ingot_math_inf() : __ingot_math_nan();
    return x <= 0.0f ? outside : r;
}

/* The fast forms take subnormal numbers for zero. */
__INGOT_MATH float __ingot_math_log_result_fast(float x, float r) {
    r = x < __ingot_math_inf() ? r : x;
    float outside = x < 0.0f ? __ingot_math_nan() : -__ingot_math_inf();
    return x < 0x1p-126f ? outside : r;
}

/* m and e of any positive float, subnormals included; e as a float. */
struct __ingot_math_log_parts {
    float f;
    float e;
};
__INGOT_MATH __ingot_math_log_parts __ingot_math_log_split(float x) {
    bool subnormal = x < 0x1p-126f;
    __ingot_math_parts parts = __ingot_math_split(subnormal ? x * 0x1p24f : x);
    return {parts.m - 1.0f, (float)parts.e - (subnormal ? 24.0f : 0.0f)};
}
__INGOT_MATH __ingot_math_log_parts __ingot_math_log_split_fast(float x) {
    __ingot_math_parts parts = __ingot_math_split(x);
    return {parts.m - 1.0f, (float)parts.e};
}

__INGOT_MATH float __ingot_math_log_sum(float f, float tail, float e) {
    float low = __ingot_math_fma(e, __INGOT_MATH_LN2_LO, tail);
    return __ingot_math_fma(e, __INGOT_MATH_LN2_HI, f + low);
}
__INGOT_MATH float __ingot_math_log2_sum(float f, float tail, float e) {
    float low = __ingot_math_fma(f, __INGOT_MATH_LOG2E_LO, tail * __INGOT_MATH_LOG2E);
    return e + __ingot_math_fma(f, __INGOT_MATH_LOG2E, low);
}
__INGOT_MATH float __ingot_math_log10_sum(float f, float tail, float e) {
    float low = __ingot_math_fma(f, __INGOT_MATH_LOG10E_LO, tail * __INGOT_MATH_LOG10E);
    low = __ingot_math_fma(f, __INGOT_MATH_LOG10E, low);
    low = __ingot_math_fma(e, __INGOT_MATH_LOG10_2_LO, low);
    return __ingot_math_fma(e, __INGOT_MATH_LOG10_2_HI, low);
}

#define __INGOT_MATH_LOG(name)                                                                     \
    __INGOT_MATH float __ingot_math_##name##_precise(float x) {                                    \
        __ingot_math_log_parts x_is = __ingot_math_log_split(x);                                   \
        float tail = __ingot_math_log_tail(x_is.f);                                                \
        return __ingot_math_log_result(x, __ingot_math_##name##_sum(x_is.f, tail, x_is.e));        \
    }                                                                                              \
    __INGOT_MATH float __ingot_math_##name##_fast(float x) {                                       \
        __ingot_math_log_parts x_is = __ingot_math_log_split_fast(x);                              \
        float tail = __ingot_math_log_tail_fast(x_is.f);                                           \
        return __ingot_math_log_result_fast(x, __ingot_math_##name##_sum(x_is.f, tail, x_is.e));   \
    }
__INGOT_MATH_LOG(log)
__INGOT_MATH_LOG(log2)
__INGOT_MATH_LOG(log10)
#undef __INGOT_MATH_LOG

/* ---- inverse hyperbolic -------------------------------------------------------------- */
/* log(1 + u) + doublings · ln 2 for 0 ≤ u < 2^127: what 1 + u rounds away goes into f. */
__INGOT_MATH float __ingot_math_log1p_plus(float u, float doublings) {
    float w = 1.0f + u;
    float back = w - 1.0f;
    float lost = (1.0f - (w - back)) + (u - back);
    __ingot_math_parts parts = __ingot_math_split(w);
    float f = __ingot_math_fma(lost, __ingot_math_exp2i(0u - (unsigned)parts.e), parts.m - 1.0f);
    return __ingot_math_log_sum(f, __ingot_math_log_tail(f), (float)parts.e + doublings);
}

/* Beyond 2^30 both asinh and acosh are log(2x), here log(1 + x/2) + 2·ln 2. */
__INGOT_MATH float __ingot_math_asinh_precise(float x) {
    float a = __ingot_math_abs(x);
    bool large = a > 0x1p30f;
    float square = a * a;
    float u = a + square / (1.0f + __builtin_sqrtf(1.0f + square));
    float r = __ingot_math_log1p_plus(large ? a * 0.5f : u, large ? 2.0f : 0.0f);
    r = a < __ingot_math_inf() ? r : a;
    return __ingot_math_sign_of(r, x);
}
__INGOT_MATH float __ingot_math_asinh_fast(float x) {
    return __ingot_math_asinh_precise(x);
}

__INGOT_MATH float __ingot_math_acosh_precise(float x) {
    bool large = x > 0x1p30f;
    float t = x - 1.0f;
    float u = t + __builtin_sqrtf(__ingot_math_fma(t, t, t + t));
    float r = __ingot_math_log1p_plus(large ? x * 0.5f : u, large ? 2.0f : 0.0f);
    r = x < __ingot_math_inf() ? r : x;
    return x < 1.0f ? __ingot_math_nan() : r;
}
__INGOT_MATH float __ingot_math_acosh_fast(float x) {
    return __ingot_math_acosh_precise(x);
}

__INGOT_MATH float __ingot_math_atanh_precise(float x) {
    float a = __ingot_math_abs(x);
    float r = 0.5f * __ingot_math_log1p_plus((a + a) / (1.0f - a), 0.0f);
    r = a < 1.0f ? r : (a == 1.0f ? __ingot_math_inf() : __ingot_math_nan());
    return __ingot_math_sign_of(r, x);
}
__INGOT_MATH float __ingot_math_atanh_fast(float x) {
    return __ingot_math_atanh_precise(x);
}

/* ---- powers -------------------------------------------------------------------------- */
/* |x|^y for x ≠ 0 finite; also right for 0, ∞ and y = ±∞ except where the product 0 · ∞ arises. */
__INGOT_MATH float __ingot_math_power_magnitude(float x, float y) {
    float a = __ingot_math_abs(x);
    __ingot_math_log_parts parts = __ingot_math_log_split(a);
    float f = parts.f;
    /* s = f / (2 + f) as s + s_low. */
    float d = 2.0f + f;
    float d_low = f - (d - 2.0f);
    float reciprocal = 1.0f / d;
    float s = f * reciprocal;
    float rest = __ingot_math_fma(-s, d_low, __ingot_math_fma(-s, d, f));
    float s_low = rest * reciprocal;
    /* ln m = 2s + 2s_low·(1 + s²) + s³·P(s²) */
    float u = s * s;
    float p = 0x1.f16126p-3f;
    p = __ingot_math_fma(p, u, 0x1.23d314p-2f);
    p = __ingot_math_fma(p, u, 0x1.999c28p-2f);
    p = __ingot_math_fma(p, u, 0x1.555554p-1f);
    float twice_low = s_low + s_low;
    float low = __ingot_math_fma(s * u, p, __ingot_math_fma(twice_low, u, twice_low));
    float high = s + s;
    /* log2 |x| = l + l_low */
    float product = high * __INGOT_MATH_LOG2E;
    float product_low = __ingot_math_fma(high, __INGOT_MATH_LOG2E, -product);
    product_low = __ingot_math_fma(high, __INGOT_MATH_LOG2E_LO, product_low);
    product_low = __ingot_math_fma(low, __INGOT_MATH_LOG2E, product_low);
    float l = parts.e + product;
    float l_low = (product - (l - parts.e)) + product_low;
    float sum = l + l_low;
    l_low = l_low - (sum - l);
    l = sum;
    l = a == 0.0f ? -__ingot_math_inf() : l;
    l = a == __ingot_math_inf() ? a : l;
    /* 2^(y · (l + l_low)) */
    float power = y * l;
    float power_low = __ingot_math_fma(y, l, -power);
    power_low = __ingot_math_fma(y, l_low, power_low);
    bool within = __ingot_math_abs(power) < 160.0f;
    power_low = within ? power_low : 0.0f;
    power = __ingot_math_at_least(__ingot_math_at_most(power, 129.0f), -160.0f);
    float t = power + __INGOT_MATH_ROUNDER;
    float n = t - __INGOT_MATH_ROUNDER;
    float r = (power - n) + power_low;
    float e = 0x1.416b5ep-13f;
    e = __ingot_math_fma(e, r, 0x1.5f082ep-10f);
    e = __ingot_math_fma(e, r, 0x1.3b2de0p-7f);
    e = __ingot_math_fma(e, r, 0x1.c6af7cp-5f);
    e = __ingot_math_fma(e, r, 0x1.ebfbdcp-3f);
    e = __ingot_math_fma(e, r, 0x1.62e430p-1f);
    e = __ingot_math_fma(e, r, 1.0f);
    return __ingot_math_scale(e, n, __ingot_math_bits(t));
}

/* C99's rules for the sign and for negative x, given |x|^y. */
__INGOT_MATH float __ingot_math_power_sign(float x, float y, float magnitude) {
    bool integer = __builtin_rintf(y) == y;
    float half = y * 0.5f;
    bool odd = integer & (__builtin_rintf(half) != half);
    float r = __ingot_math_flip(magnitude, odd ? __ingot_math_bits(x) : 0u);
    return (__ingot_math_is_negative_finite(x) & !integer) ? __ingot_math_nan() : r;
}

/* All of C99's special cases, given |x|^y for the ordinary ones. */
__INGOT_MATH float __ingot_math_power_result(float x, float y, float magnitude) {
    float r = __ingot_math_abs(x) == 1.0f ? 1.0f : magnitude; /* also (±1)^±∞ */
    r = __ingot_math_power_sign(x, y, r);
    r = ((x != x) | (y != y)) ? x + y : r;
    return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : r;
}
__INGOT_MATH float __ingot_math_pow_precise(float x, float y) {
    return __ingot_math_power_result(x, y, __ingot_math_power_magnitude(x, y));
}
/* x ≥ 0. As in OpenCL, powr is exp(y · log x): 0^0, ∞^0 and 1^∞ are NaN. */
__INGOT_MATH float __ingot_math_powr_result(float x, float y, float r) {
    r = ((y == 0.0f) & __ingot_math_is_positive_finite(x)) ? 1.0f : r;
    bool undefined = (x == 1.0f) & (__ingot_math_abs(y) == __ingot_math_inf());
    undefined |= (y == 0.0f) & ((x == 0.0f) | (x == __ingot_math_inf()));
    undefined |= !(x >= 0.0f) | (y != y);
    return undefined ? __ingot_math_nan() : r;
}
__INGOT_MATH float __ingot_math_powr_precise(float x, float y) {
    return __ingot_math_powr_result(x, y, __ingot_math_power_magnitude(x, y));
}
__INGOT_MATH float __ingot_math_power_fast(float x, float y) {
    __ingot_math_log_parts parts = __ingot_math_log_split_fast(x);
    float tail = __ingot_math_log_tail_fast(parts.f);
    float l = __ingot_math_log_result_fast(x, __ingot_math_log2_sum(parts.f, tail, parts.e));
    return __ingot_math_exp2_fast(y * l);
}
__INGOT_MATH float __ingot_math_pow_fast(float x, float y) {
    float r = __ingot_math_power_sign(x, y, __ingot_math_power_fast(__ingot_math_abs(x), y));
    return y == 0.0f ? 1.0f : r;
}
__INGOT_MATH float __ingot_math_powr_fast(float x, float y) {
    return __ingot_math_power_fast(x, y);
}
/* half needs the special values, but not log2 in two parts. */
__INGOT_MATH float __ingot_math_pow_half(float x, float y) {
    return __ingot_math_power_result(x, y, __ingot_math_power_fast(__ingot_math_abs(x), y));
}
__INGOT_MATH float __ingot_math_powr_half(float x, float y) {
    return __ingot_math_powr_result(x, y, __ingot_math_power_fast(__ingot_math_abs(x), y));
}
