/*
 * Building blocks of the maths library: bit patterns of floats, selects that become single
 * vector instructions, powers of two.
 *
 * The ingot_math_*.h headers hold MSL's maths as scalar code on float. It is inlined into
 * kernels and vectorised with them, so it is written without tables and, where possible,
 * without branches. Two forms of every function exist: __ingot_math_NAME_precise meets the
 * MSL specification's table for precise maths with C99's special values;
 * __ingot_math_NAME_fast is within the bounds for fast maths. Polynomials are minimax fits
 * (linear programming over Chebyshev nodes, coefficients rounded to float one by one from
 * the lowest order, the rest refitted after each).
 *
 * Requires: clang, nothing else; also compiles as host C++ (tests/accuracy).
 */
#pragma once

#define __INGOT_MATH static inline __attribute__((always_inline))

/* Explicit fma only: the error bounds rest on where roundings happen. ingot_math.h restores
 * the including file's state. */
#pragma clang fp contract(off)

__INGOT_MATH unsigned __ingot_math_bits(float x) {
    return __builtin_bit_cast(unsigned, x);
}
__INGOT_MATH float __ingot_math_float(unsigned b) {
    return __builtin_bit_cast(float, b);
}
__INGOT_MATH float __ingot_math_fma(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
__INGOT_MATH float __ingot_math_inf() {
    return __builtin_inff();
}
__INGOT_MATH float __ingot_math_nan() {
    return __builtin_nanf("");
}

/* x limited to at most / at least `limit`; a NaN stays. One instruction each, unlike fmin. */
__INGOT_MATH float __ingot_math_at_most(float x, float limit) {
    return limit < x ? limit : x;
}
__INGOT_MATH float __ingot_math_at_least(float x, float limit) {
    return limit > x ? limit : x;
}

__INGOT_MATH float __ingot_math_abs(float x) {
    return __builtin_fabsf(x);
}
__INGOT_MATH float __ingot_math_sign_of(float magnitude, float sign) {
    return __builtin_copysignf(magnitude, sign);
}
/* On the bits: two instructions, where two comparisons would become a general classification. */
__INGOT_MATH bool __ingot_math_is_positive_finite(float x) {
    return __ingot_math_bits(x) - 1u < 0x7f7fffffu;
}
__INGOT_MATH bool __ingot_math_is_negative_finite(float x) {
    return __ingot_math_bits(x) - 0x80000001u < 0x7f7fffffu;
}
/* x with its sign changed where bit 31 of `flip` is set. */
__INGOT_MATH float __ingot_math_flip(float x, unsigned flip) {
    return __ingot_math_float(__ingot_math_bits(x) ^ (flip & 0x80000000u));
}

/* Adding this to |v| < 2^22 rounds v to an integer, to nearest even, and leaves that integer in
 * the low bits of the sum's pattern; 23 bits further left they are an exponent. */
#define __INGOT_MATH_ROUNDER 0x1.8p23f

/* 2^n for n in [-126, 127], n in the low bits of `n`. */
__INGOT_MATH float __ingot_math_exp2i(unsigned n) {
    return __ingot_math_float((n + 127u) << 23);
}

/* p · 2^n, rounded once, for p in [0.5, 2] and n in [-190, 129]; n as a float and in the low bits
 * of `bits`. */
__INGOT_MATH float __ingot_math_scale(float p, float n, unsigned bits) {
    bool tiny = n < -120.0f;
    float scale = __ingot_math_float((bits + (tiny ? 126u + 64u : 126u)) << 23);
    return (p * scale) * (tiny ? 0x1p-63f : 2.0f);
}

/* x = m · 2^e with m in [√½, √2), for positive normal x. */
struct __ingot_math_parts {
    float m;
    int e;
};
__INGOT_MATH __ingot_math_parts __ingot_math_split(float x) {
    const unsigned root_half = 0x3f3504f3u;
    unsigned shifted = __ingot_math_bits(x) - root_half;
    return {__ingot_math_float((shifted & 0x007fffffu) + root_half), (int)shifted >> 23};
}
