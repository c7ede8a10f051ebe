/*
 * Sine, cosine, tangent, and their forms in half turns.
 *
 * x = n·π/2 + r: up to |x| = 105615 by three multiply-adds with π/2 in three parts (Cody and
 * Waite; the first is exact, because n is an integer); beyond that by Payne and Hanek's method
 * with 96 bits of 2/π, in integers. Then odd and even polynomials on |r| ≤ π/4.
 */
#pragma once
#include "ingot_math_bits.h"

#define __INGOT_MATH_PI_2_HI  0x1.921fb6p+0f
#define __INGOT_MATH_PI_2_MID (-0x1.777a5cp-25f)
#define __INGOT_MATH_PI_2_LOW (-0x1.ee59dap-50f)

/* The distance to the nearest multiple of π/2, and which (its low two bits count). */
struct __ingot_math_angle {
    float r;
    unsigned quadrant;
};

/* 32 bits of 0.2/π from bit 32·index − 32 on, for index 0 … 7. */
__INGOT_MATH unsigned __ingot_math_two_over_pi(unsigned index) {
    unsigned w = index < 1u ? 0u : 0xa2f9836eu;
    w = index < 2u ? w : 0x4e441529u;
    w = index < 3u ? w : 0xfc2757d1u;
    w = index < 4u ? w : 0xf534ddc0u;
    w = index < 5u ? w : 0xdb629599u;
    w = index < 6u ? w : 0x3c439041u;
    return index < 7u ? w : 0xfe5163abu;
}

/* For |x| ≥ 2^16: |x| = m · 2^s. Bits of 2/π whose product with m · 2^s is a multiple of 4 are
 * skipped; the next 96 times m, modulo 2^96, are the angle as a fraction of a full turn. */
__INGOT_MATH __ingot_math_angle __ingot_math_reduce_large(float x) {
    unsigned bits = __ingot_math_bits(x) & 0x7fffffffu;
    unsigned m = (bits & 0x007fffffu) | 0x00800000u;
    unsigned first = (bits >> 23) - 120u; /* s − 2, plus the 32 zero bits in front */
    unsigned index = first >> 5, shift = first & 31u;
    unsigned long w0 = __ingot_math_two_over_pi(index);
    unsigned long w1 = __ingot_math_two_over_pi(index + 1u);
    unsigned long w2 = __ingot_math_two_over_pi(index + 2u);
    unsigned long w3 = __ingot_math_two_over_pi(index + 3u);
    unsigned long high = (((w0 << 32) | w1) >> (32u - shift)) & 0xffffffffu;
    unsigned long middle = (((w1 << 32) | w2) >> (32u - shift)) & 0xffffffffu;
    unsigned long low = (((w2 << 32) | w3) >> (32u - shift)) & 0xffffffffu;
    unsigned long turn = ((low * m) >> 32) + middle * m + ((high * m) << 32);
    unsigned quadrant = (unsigned)((turn + (1ul << 61)) >> 62);
    long offset = (long)(turn - ((unsigned long)quadrant << 62));
    float r = (float)offset * 0x1.921fb6p-62f;
    bool negative = x < 0.0f;
    r = bits < 0x7f800000u ? r : __ingot_math_nan();
    return {negative ? -r : r, negative ? 0u - quadrant : quadrant};
}

__INGOT_MATH __ingot_math_angle __ingot_math_reduce(float x) {
    float t = __ingot_math_fma(x, 0x1.45f306p-1f, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -__INGOT_MATH_PI_2_HI, x);
    r = __ingot_math_fma(n, -__INGOT_MATH_PI_2_MID, r);
    r = __ingot_math_fma(n, -__INGOT_MATH_PI_2_LOW, r);
    __ingot_math_angle angle = {r, __ingot_math_bits(t)};
    if (!(__ingot_math_abs(x) < 105615.0f)) {
        angle = __ingot_math_reduce_large(x);
    }
    return angle;
}
/* Two parts of π/2; good for |x| up to some 10^5, within [−1, 1] for all. */
__INGOT_MATH __ingot_math_angle __ingot_math_reduce_fast(float x) {
    float t = __ingot_math_fma(x, 0x1.45f306p-1f, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    float r = __ingot_math_fma(n, -__INGOT_MATH_PI_2_HI, x);
    r = __ingot_math_fma(n, -__INGOT_MATH_PI_2_MID, r);
    r = __ingot_math_at_least(__ingot_math_at_most(r, 1.0f), -1.0f);
    return {r, __ingot_math_bits(t)};
}

__INGOT_MATH float __ingot_math_sin_small(float r) {
    float u = r * r;
    float p = 0x1.7b587cp-19f;
    p = __ingot_math_fma(p, u, -0x1.a056a2p-13f);
    p = __ingot_math_fma(p, u, 0x1.111172p-7f);
    p = __ingot_math_fma(p, u, -0x1.555556p-3f);
    return __ingot_math_fma(p * u, r, r);
}
__INGOT_MATH float __ingot_math_cos_small(float r) {
    float u = r * r;
    float p = 0x1.99de6ap-16f;
    p = __ingot_math_fma(p, u, -0x1.6c0c14p-10f);
    p = __ingot_math_fma(p, u, 0x1.55554ap-5f);
    p = __ingot_math_fma(p, u, -0.5f);
    return __ingot_math_fma(p, u, 1.0f);
}
__INGOT_MATH float __ingot_math_sin_small_fast(float r) {
    float u = r * r;
    float p = -0x1.991c28p-13f;
    p = __ingot_math_fma(p, u, 0x1.1106c6p-7f);
    p = __ingot_math_fma(p, u, -0x1.555544p-3f);
    return __ingot_math_fma(p * u, r, r);
}
__INGOT_MATH float __ingot_math_cos_small_fast(float r) {
    float u = r * r;
    float p = -0x1.65aa64p-10f;
    p = __ingot_math_fma(p, u, 0x1.55491ep-5f);
    p = __ingot_math_fma(p, u, -0.5f);
    return __ingot_math_fma(p, u, 1.0f);
}
/* Sine of the angle `quadrant` quarter turns beyond r, from sin r and cos r. */
__INGOT_MATH float __ingot_math_turned(float sin_r, float cos_r, unsigned quadrant) {
    return __ingot_math_flip(quadrant & 1u ? cos_r : sin_r, quadrant << 30);
}

__INGOT_MATH float __ingot_math_sin_precise(float x) {
    __ingot_math_angle a = __ingot_math_reduce(x);
    float s =
        __ingot_math_turned(__ingot_math_sin_small(a.r), __ingot_math_cos_small(a.r), a.quadrant);
    return x == 0.0f ? x : s;
}
__INGOT_MATH float __ingot_math_cos_precise(float x) {
    __ingot_math_angle a = __ingot_math_reduce(x);
    return __ingot_math_turned(__ingot_math_sin_small(a.r), __ingot_math_cos_small(a.r),
                               a.quadrant + 1u);
}
__INGOT_MATH float __ingot_math_sincos_precise(float x, float *cosine) {
    __ingot_math_angle a = __ingot_math_reduce(x);
    float s = __ingot_math_sin_small(a.r), c = __ingot_math_cos_small(a.r);
    *cosine = __ingot_math_turned(s, c, a.quadrant + 1u);
    return x == 0.0f ? x : __ingot_math_turned(s, c, a.quadrant);
}
__INGOT_MATH float __ingot_math_sin_fast(float x) {
    __ingot_math_angle a = __ingot_math_reduce_fast(x);
    return __ingot_math_turned(__ingot_math_sin_small_fast(a.r), __ingot_math_cos_small_fast(a.r),
                               a.quadrant);
}
__INGOT_MATH float __ingot_math_cos_fast(float x) {
    __ingot_math_angle a = __ingot_math_reduce_fast(x);
    return __ingot_math_turned(__ingot_math_sin_small_fast(a.r), __ingot_math_cos_small_fast(a.r),
                               a.quadrant + 1u);
}
__INGOT_MATH float __ingot_math_sincos_fast(float x, float *cosine) {
    __ingot_math_angle a = __ingot_math_reduce_fast(x);
    float s = __ingot_math_sin_small_fast(a.r), c = __ingot_math_cos_small_fast(a.r);
    *cosine = __ingot_math_turned(s, c, a.quadrant + 1u);
    return __ingot_math_turned(s, c, a.quadrant);
}

/* For half: |x| < 105615 always, and an infinity becomes NaN on the way; only zero is special. */
__INGOT_MATH float __ingot_math_sin_half(float x) {
    float s = __ingot_math_sin_fast(x);
    return x == 0.0f ? x : s;
}
__INGOT_MATH float __ingot_math_cos_half(float x) {
    return __ingot_math_cos_fast(x);
}

__INGOT_MATH float __ingot_math_tan_of(__ingot_math_angle a) {
    float u = a.r * a.r;
    float p = 0x1.25b406p-8f;
    p = __ingot_math_fma(p, u, -0x1.f2245ap-14f);
    p = __ingot_math_fma(p, u, 0x1.684d60p-7f);
    p = __ingot_math_fma(p, u, 0x1.5bb610p-6f);
    p = __ingot_math_fma(p, u, 0x1.baf310p-5f);
    p = __ingot_math_fma(p, u, 0x1.110d12p-3f);
    p = __ingot_math_fma(p, u, 0x1.555562p-2f);
    float t = __ingot_math_fma(p * u, a.r, a.r);
    return a.quadrant & 1u ? -1.0f / t : t;
}
__INGOT_MATH float __ingot_math_tan_precise(float x) {
    float t = __ingot_math_tan_of(__ingot_math_reduce(x));
    return x == 0.0f ? x : t;
}
__INGOT_MATH float __ingot_math_tan_fast(float x) {
    return __ingot_math_tan_of(__ingot_math_reduce_fast(x));
}

__INGOT_MATH float __ingot_math_tan_half(float x) {
    float t = __ingot_math_tan_fast(x);
    return x == 0.0f ? x : t;
}

/* ---- in half turns: the reduction is exact ------------------------------------------- */
__INGOT_MATH __ingot_math_angle __ingot_math_reduce_pi(float x) {
    float y = x - 2.0f * __builtin_rintf(x * 0.5f);
    float t = __ingot_math_fma(y, 2.0f, __INGOT_MATH_ROUNDER);
    float n = t - __INGOT_MATH_ROUNDER;
    return {__ingot_math_fma(n, -0.5f, y), __ingot_math_bits(t)};
}
__INGOT_MATH float __ingot_math_sinpi_small(float r) {
    float u = r * r;
    float p = 0x1.443a9ap-4f;
    p = __ingot_math_fma(p, u, -0x1.32adaap-1f);
    p = __ingot_math_fma(p, u, 0x1.466b78p+1f);
    p = __ingot_math_fma(p, u, -0x1.4abbcep+2f);
    p = __ingot_math_fma(p, u, -0x1.777a5cp-24f);
    return __ingot_math_fma(r, 0x1.921fb6p+1f, r * p);
}
__INGOT_MATH float __ingot_math_cospi_small(float r) {
    float u = r * r;
    float p = 0x1.d4f7eep-3f;
    p = __ingot_math_fma(p, u, -0x1.55b2b6p+0f);
    p = __ingot_math_fma(p, u, 0x1.03c1b0p+2f);
    p = __ingot_math_fma(p, u, -0x1.3bd3ccp+2f);
    return __ingot_math_fma(p, u, 1.0f);
}
/* At integers the result is a zero with the sign of x. */
__INGOT_MATH float __ingot_math_sinpi_precise(float x) {
    __ingot_math_angle a = __ingot_math_reduce_pi(x);
    float s = __ingot_math_turned(__ingot_math_sinpi_small(a.r), __ingot_math_cospi_small(a.r),
                                  a.quadrant);
    return s == 0.0f ? __ingot_math_sign_of(0.0f, x) : s;
}
/* At odd multiples of one half the result is +0. */
__INGOT_MATH float __ingot_math_cospi_precise(float x) {
    __ingot_math_angle a = __ingot_math_reduce_pi(x);
    float c = __ingot_math_turned(__ingot_math_sinpi_small(a.r), __ingot_math_cospi_small(a.r),
                                  a.quadrant + 1u);
    return c + 0.0f;
}
__INGOT_MATH float __ingot_math_tanpi_precise(float x) {
    __ingot_math_angle a = __ingot_math_reduce_pi(x);
    float s = __ingot_math_sinpi_small(a.r), c = __ingot_math_cospi_small(a.r);
    bool odd = a.quadrant & 1u;
    float numerator = odd ? c : s, denominator = odd ? -s : c;
    /* Poles and zeros take C23's signs: those of the exact one-sided quotient. */
    float sine = __ingot_math_flip(numerator, a.quadrant << 30);
    float cosine = __ingot_math_flip(denominator, a.quadrant << 30);
    sine = sine == 0.0f ? __ingot_math_sign_of(0.0f, x) : sine;
    return sine / (cosine + 0.0f);
}
__INGOT_MATH float __ingot_math_sinpi_fast(float x) {
    return __ingot_math_sinpi_precise(x);
}
__INGOT_MATH float __ingot_math_cospi_fast(float x) {
    return __ingot_math_cospi_precise(x);
}
__INGOT_MATH float __ingot_math_tanpi_fast(float x) {
    return __ingot_math_tanpi_precise(x);
}
