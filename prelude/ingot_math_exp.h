/*
 * Exponentials and hyperbolic functions.
 *
 * b^x = 2^n · b^r with n the nearest integer to x·log2(b) and |r| at most half of log_b(2)
 * (Cody and Waite's reduction: r = x − n·hi − n·lo). b^r is a polynomial of degree 6 (precise,
 * error 2^-28) or 5 (fast, 2^-23). The hyperbolic functions start from expm1(r) = r + r²·Q(r).
 */
#pragma once
#include "ingot_math_bits.h"

#define __INGOT_MATH_LOG2E  0x1.715476p+0f
#define __INGOT_MATH_LN2_HI 0x1.62e430p-1f
#define __INGOT_MATH_LN2_LO (-0x1.05c610p-29f)

__INGOT_MATH float __ingot_math_exp_precise(float x) {
    x = __ingot_math_at_least(__ingot_math_at_most(x, 89.5f), -110.0f);
    float t = __ingot_math_fma(x, __INGOT_MATH_LOG2E, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -__INGOT_MATH_LN2_HI, x);
    r = __ingot_math_fma(n, -__INGOT_MATH_LN2_LO, r);
    float p = 0x1.6a4efap-10f;
    p = __ingot_math_fma(p, r, 0x1.12399ep-7f);
    p = __ingot_math_fma(p, r, 0x1.5558b0p-5f);
    p = __ingot_math_fma(p, r, 0x1.555492p-3f);
    p = __ingot_math_fma(p, r, 0x1.fffffcp-2f);
    p = __ingot_math_fma(p, r, 1.0f);
    p = __ingot_math_fma(p, r, 1.0f);
    return __ingot_math_scale(p, n, __ingot_math_bits(t));
}

__INGOT_MATH float __ingot_math_exp2_precise(float x) {
    x = __ingot_math_at_least(__ingot_math_at_most(x, 129.0f), -160.0f);
    float t = x + __INGOT_MATH_ROUNDER;
    float n = t - __INGOT_MATH_ROUNDER;
    float r = x - n;
    float p = 0x1.416b5ep-13f;
    p = __ingot_math_fma(p, r, 0x1.5f082ep-10f);
    p = __ingot_math_fma(p, r, 0x1.3b2de0p-7f);
    p = __ingot_math_fma(p, r, 0x1.c6af7cp-5f);
    p = __ingot_math_fma(p, r, 0x1.ebfbdcp-3f);
    p = __ingot_math_fma(p, r, 0x1.62e430p-1f);
    p = __ingot_math_fma(p, r, 1.0f);
    return __ingot_math_scale(p, n, __ingot_math_bits(t));
}

__INGOT_MATH float __ingot_math_exp10_precise(float x) {
    x = __ingot_math_at_least(__ingot_math_at_most(x, 38.7f), -48.0f);
    float t = __ingot_math_fma(x, 0x1.a934f0p+1f, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -0x1.344136p-2f, x);
    r = __ingot_math_fma(n, 0x1.ec10c0p-27f, r);
    float p = 0x1.a63d64p-3f;
    p = __ingot_math_fma(p, r, 0x1.156a38p-1f);
    p = __ingot_math_fma(p, r, 0x1.2bd9fep+0f);
    p = __ingot_math_fma(p, r, 0x1.046f9cp+1f);
    p = __ingot_math_fma(p, r, 0x1.53524ap+1f);
    p = __ingot_math_fma(p, r, 0x1.26bb1cp+1f);
    p = __ingot_math_fma(p, r, 1.0f);
    return __ingot_math_scale(p, n, __ingot_math_bits(t));
}

/* The fast forms add n to the exponent of p = b^r. Results below 2^-126 are 0; `low` and `high`
 * are the arguments of the least and the greatest normal result. */
__INGOT_MATH float __ingot_math_fast_power(float x, float p, float t, float low, float high) {
    float r = __ingot_math_float(__ingot_math_bits(p) + (__ingot_math_bits(t) << 23));
    r = x < low ? 0.0f : r;
    return x <= high ? r : x + __ingot_math_inf();
}

__INGOT_MATH float __ingot_math_exp_fast(float x) {
    float t = __ingot_math_fma(x, __INGOT_MATH_LOG2E, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -__INGOT_MATH_LN2_HI, x);
    float p = 0x1.0f9ed2p-7f;
    p = __ingot_math_fma(p, r, 0x1.573adcp-5f);
    p = __ingot_math_fma(p, r, 0x1.555a82p-3f);
    p = __ingot_math_fma(p, r, 0x1.fffdc4p-2f);
    p = __ingot_math_fma(p, r, 0x1.fffff6p-1f);
    p = __ingot_math_fma(p, r, 1.0f);
    return __ingot_math_fast_power(x, p, t, -0x1.5d589ep+6f, 0x1.62e42ep+6f);
}

__INGOT_MATH float __ingot_math_exp2_fast(float x) {
    float t = x + __INGOT_MATH_ROUNDER;
    float n = t - __INGOT_MATH_ROUNDER;
    float r = x - n;
    float p = 0x1.5bd7b2p-10f;
    p = __ingot_math_fma(p, r, 0x1.3ce8cep-7f);
    p = __ingot_math_fma(p, r, 0x1.c6b6dep-5f);
    p = __ingot_math_fma(p, r, 0x1.ebf9c2p-3f);
    p = __ingot_math_fma(p, r, 0x1.62e42ap-1f);
    p = __ingot_math_fma(p, r, 1.0f);
    return __ingot_math_fast_power(x, p, t, -126.0f, 0x1.fffffep+6f);
}

__INGOT_MATH float __ingot_math_exp10_fast(float x) {
    float t = __ingot_math_fma(x, 0x1.a934f0p+1f, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -0x1.344136p-2f, x);
    r = __ingot_math_fma(n, 0x1.ec10c0p-27f, r);
    float p = 0x1.12b8cap-1f;
    p = __ingot_math_fma(p, r, 0x1.2d81a0p+0f);
    p = __ingot_math_fma(p, r, 0x1.047444p+1f);
    p = __ingot_math_fma(p, r, 0x1.5350d2p+1f);
    p = __ingot_math_fma(p, r, 0x1.26bb16p+1f);
    p = __ingot_math_fma(p, r, 1.0f);
    return __ingot_math_fast_power(x, p, t, -0x1.2f7030p+5f, 0x1.344134p+5f);
}

/* e^x = 2^n · (1 + m) for 0 ≤ x ≤ 89.5; n in the low bits of `bits`. */
struct __ingot_math_expm1_parts {
    float m;
    unsigned bits;
};
__INGOT_MATH __ingot_math_expm1_parts __ingot_math_expm1_split(float x) {
    float t = __ingot_math_fma(x, __INGOT_MATH_LOG2E, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -__INGOT_MATH_LN2_HI, x);
    r = __ingot_math_fma(n, -__INGOT_MATH_LN2_LO, r);
    float q = 0x1.9e6f64p-13f;
    q = __ingot_math_fma(q, r, 0x1.6d3a40p-10f);
    q = __ingot_math_fma(q, r, 0x1.1112dap-7f);
    q = __ingot_math_fma(q, r, 0x1.5554f8p-5f);
    q = __ingot_math_fma(q, r, 0x1.555554p-3f);
    q = __ingot_math_fma(q, r, 0.5f);
    return {__ingot_math_fma(q * r, r, r), __ingot_math_bits(t)};
}

/* tanh |x| = v / (v + 2) with v = e^(2|x|) − 1. */
__INGOT_MATH float __ingot_math_tanh_precise(float x) {
    float y = __ingot_math_abs(x);
    y = __ingot_math_at_most(y + y, 20.0f);
    __ingot_math_expm1_parts e = __ingot_math_expm1_split(y);
    float s = __ingot_math_exp2i(e.bits);
    float v = __ingot_math_fma(s, e.m, s - 1.0f);
    return __ingot_math_sign_of(v / (v + 2.0f), x);
}
__INGOT_MATH float __ingot_math_tanh_fast(float x) {
    return __ingot_math_tanh_precise(x);
}

/* sinh |x| = h + h / (2h + 1) with h = (e^|x| − 1) / 2; cosh x = 2w + 1 / (8w), w = e^|x| / 4. */
__INGOT_MATH float __ingot_math_sinh_precise(float x) {
    __ingot_math_expm1_parts e =
        __ingot_math_expm1_split(__ingot_math_at_most(__ingot_math_abs(x), 89.5f));
    float s = __ingot_math_float((e.bits + 125u) << 23);
    float h = __ingot_math_fma(s, e.m, s - 0.25f) * 2.0f;
    float r = h + h / __ingot_math_fma(2.0f, h, 1.0f);
    r = h == __ingot_math_inf() ? h : r;
    return __ingot_math_abs(x) < 0x1p-13f ? x : __ingot_math_sign_of(r, x);
}
__INGOT_MATH float __ingot_math_sinh_fast(float x) {
    return __ingot_math_sinh_precise(x);
}

__INGOT_MATH float __ingot_math_cosh_precise(float x) {
    __ingot_math_expm1_parts e =
        __ingot_math_expm1_split(__ingot_math_at_most(__ingot_math_abs(x), 89.5f));
    float s = __ingot_math_float((e.bits + 125u) << 23);
    float w = __ingot_math_fma(s, e.m, s);
    return __ingot_math_fma(2.0f, w, 0.125f / w);
}
__INGOT_MATH float __ingot_math_cosh_fast(float x) {
    return __ingot_math_cosh_precise(x);
}
