/*
 * Inverse trigonometric functions: odd polynomials on [0, ½] (arcsine) and [0, 1] (arctangent);
 * the rest of the domain by asin x = π/2 − 2·asin √((1−x)/2) and atan x = π/2 − atan 1/x.
 */
#pragma once
#include "ingot_math_bits.h"

#define __INGOT_MATH_HALF_PI    0x1.921fb6p+0f
#define __INGOT_MATH_HALF_PI_LO (-0x1.777a5cp-25f)

/* asin s for 0 ≤ s ≤ ½, u = s². */
__INGOT_MATH float __ingot_math_asin_small(float s, float u) {
    float p = 0x1.595c96p-5f;
    p = __ingot_math_fma(p, u, 0x1.8c3e26p-6f);
    p = __ingot_math_fma(p, u, 0x1.747bbap-5f);
    p = __ingot_math_fma(p, u, 0x1.330204p-4f);
    p = __ingot_math_fma(p, u, 0x1.5555c8p-3f);
    return __ingot_math_fma(p * u, s, s);
}
__INGOT_MATH float __ingot_math_asin_precise(float x) {
    float a = __ingot_math_abs(x);
    bool outer = a > 0.5f;
    float u = outer ? __ingot_math_fma(a, -0.5f, 0.5f) : a * a;
    float p = __ingot_math_asin_small(outer ? __builtin_sqrtf(u) : a, u);
    float far = __ingot_math_fma(-2.0f, p, __INGOT_MATH_HALF_PI) + __INGOT_MATH_HALF_PI_LO;
    return __ingot_math_sign_of(outer ? far : p, x);
}
__INGOT_MATH float __ingot_math_acos_precise(float x) {
    float a = __ingot_math_abs(x);
    bool outer = a > 0.5f;
    float u = outer ? __ingot_math_fma(a, -0.5f, 0.5f) : a * a;
    float p = __ingot_math_asin_small(outer ? __builtin_sqrtf(u) : a, u);
    float twice = p + p;
    float back = (2.0f * __INGOT_MATH_HALF_PI - twice) + 2.0f * __INGOT_MATH_HALF_PI_LO;
    float inner = (__INGOT_MATH_HALF_PI - __ingot_math_sign_of(p, x)) + __INGOT_MATH_HALF_PI_LO;
    return outer ? (x < 0.0f ? back : twice) : inner;
}

/* atan z for 0 ≤ z ≤ 1. */
__INGOT_MATH float __ingot_math_atan_small(float z) {
    float u = z * z;
    float p = -0x1.d0edd0p-10f;
    p = __ingot_math_fma(p, u, 0x1.62e8cep-7f);
    p = __ingot_math_fma(p, u, -0x1.fc758ep-6f);
    p = __ingot_math_fma(p, u, 0x1.d9b50ap-5f);
    p = __ingot_math_fma(p, u, -0x1.57ebdap-4f);
    p = __ingot_math_fma(p, u, 0x1.c08424p-4f);
    p = __ingot_math_fma(p, u, -0x1.241ff2p-3f);
    p = __ingot_math_fma(p, u, 0x1.9991dcp-3f);
    p = __ingot_math_fma(p, u, -0x1.55553ep-2f);
    return __ingot_math_fma(p * u, z, z);
}
__INGOT_MATH float __ingot_math_atan_precise(float x) {
    float a = __ingot_math_abs(x);
    bool steep = a > 1.0f;
    float p = __ingot_math_atan_small(steep ? 1.0f / a : a);
    float far = (__INGOT_MATH_HALF_PI - p) + __INGOT_MATH_HALF_PI_LO;
    return __ingot_math_sign_of(steep ? far : p, x);
}
/* Annex F's special cases: 0/0 counts as 0, ∞/∞ as 1; the signs of y and x choose the quadrant. */
__INGOT_MATH float __ingot_math_atan2_precise(float y, float x) {
    float ay = __ingot_math_abs(y), ax = __ingot_math_abs(x);
    bool steep = ay > ax;
    float large = steep ? ay : ax, small = steep ? ax : ay;
    float z = small / large;
    z = large == 0.0f ? 0.0f : z;
    z = small == __ingot_math_inf() ? 1.0f : z;
    float p = __ingot_math_atan_small(z);
    float far = (__INGOT_MATH_HALF_PI - p) + __INGOT_MATH_HALF_PI_LO;
    p = steep ? far : p;
    float back = (2.0f * __INGOT_MATH_HALF_PI - p) + 2.0f * __INGOT_MATH_HALF_PI_LO;
    p = (int)__ingot_math_bits(x) < 0 ? back : p;
    p = __ingot_math_sign_of(p, y);
    return ((x != x) | (y != y)) ? x + y : p;
}
__INGOT_MATH float __ingot_math_asin_fast(float x) {
    return __ingot_math_asin_precise(x);
}
__INGOT_MATH float __ingot_math_acos_fast(float x) {
    return __ingot_math_acos_precise(x);
}
__INGOT_MATH float __ingot_math_atan_fast(float x) {
    return __ingot_math_atan_precise(x);
}
__INGOT_MATH float __ingot_math_atan2_fast(float y, float x) {
    return __ingot_math_atan2_precise(y, x);
}
