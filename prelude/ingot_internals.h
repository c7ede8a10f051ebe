/*
 * The __metal_* functions of Metal's own headers that kernels call directly. The last operand of
 * the maths ones says whether the fast form may be used.
 */
#pragma once
#include "ingot_math.h"
#include "ingot_simd.h"
#include "ingot_simdgroup_matrix.h"

#define __INGOT_INTERNAL1(name, ...)                                                               \
    template <class T> __ingot_inline auto __metal_##name(T x, bool fast = true) {                 \
        return fast ? metal::fast::name(x) : metal::precise::name(x);                              \
    }
#define __INGOT_INTERNAL2(name, ...)                                                               \
    template <class T>                                                                             \
    __ingot_inline auto __metal_##name(T x, metal::type_identity_t<T> y, bool fast = true) {       \
        return fast ? metal::fast::name(x, y) : metal::precise::name(x, y);                        \
    }
#define __INGOT_INTERNAL3(name, ...)                                                               \
    template <class T>                                                                             \
    __ingot_inline auto __metal_##name(T x, metal::type_identity_t<T> y,                           \
                                       metal::type_identity_t<T> z, bool fast = true) {            \
        return fast ? metal::fast::name(x, y, z) : metal::precise::name(x, y, z);                  \
    }
__INGOT_MATH_1(__INGOT_INTERNAL1)
__INGOT_MATH_2(__INGOT_INTERNAL2)
__INGOT_MATH_3(__INGOT_INTERNAL3)
__INGOT_INTERNAL2(nextafter)
#undef __INGOT_INTERNAL1
#undef __INGOT_INTERNAL2
#undef __INGOT_INTERNAL3
template <class T> __ingot_inline auto __metal_ldexp(T x, int k, bool = true) {
    return metal::ldexp(x, k);
}
template <class T> __ingot_inline auto __metal_frexp(T x, int *exponent, bool = true) {
    return metal::frexp(x, *exponent);
}

template <class T> __ingot_inline T __metal_get_simdgroup_size(T) {
    return (T)32;
}
template <class T> __ingot_inline T __metal_get_thread_index_in_simdgroup(T) {
    return (T)__ingot_thread_index_in_simdgroup();
}

#define __INGOT_INTERNAL(name)                                                                     \
    template <class T, class... A> __ingot_inline T __metal_##name(T x, A... rest) {               \
        return metal::name(x, rest...);                                                            \
    }
__INGOT_INTERNAL(simd_broadcast)
__INGOT_INTERNAL(simd_broadcast_first)
__INGOT_INTERNAL(simd_shuffle)
__INGOT_INTERNAL(simd_shuffle_xor)
__INGOT_INTERNAL(simd_shuffle_up)
__INGOT_INTERNAL(simd_shuffle_down)
__INGOT_INTERNAL(simd_shuffle_rotate_up)
__INGOT_INTERNAL(simd_shuffle_rotate_down)
__INGOT_INTERNAL(simd_shuffle_and_fill_up)
__INGOT_INTERNAL(simd_shuffle_and_fill_down)
__INGOT_INTERNAL(simd_sum)
__INGOT_INTERNAL(simd_product)
__INGOT_INTERNAL(simd_min)
__INGOT_INTERNAL(simd_max)
__INGOT_INTERNAL(simd_prefix_inclusive_sum)
__INGOT_INTERNAL(simd_prefix_exclusive_sum)
__INGOT_INTERNAL(simd_prefix_inclusive_product)
__INGOT_INTERNAL(simd_prefix_exclusive_product)
__INGOT_INTERNAL(quad_broadcast)
__INGOT_INTERNAL(quad_shuffle)
__INGOT_INTERNAL(quad_shuffle_xor)
__INGOT_INTERNAL(quad_shuffle_up)
__INGOT_INTERNAL(quad_shuffle_down)
__INGOT_INTERNAL(quad_sum)
#undef __INGOT_INTERNAL

/* Of floating point numbers: of their bits. */
#define __INGOT_INTERNAL_BITS(name)                                                                \
    template <class T> __ingot_inline T __metal_##name(T x) {                                      \
        if constexpr (__is_floating_point(T)) {                                                    \
            using U = metal::__ingot_bits_t<T>;                                                    \
            return __builtin_bit_cast(T, metal::name(__builtin_bit_cast(U, x)));                   \
        } else {                                                                                   \
            return metal::name(x);                                                                 \
        }                                                                                          \
    }
__INGOT_INTERNAL_BITS(simd_and)
__INGOT_INTERNAL_BITS(simd_or)
__INGOT_INTERNAL_BITS(simd_xor)
#undef __INGOT_INTERNAL_BITS

/* The last operand only gives the result's type. */
template <class A, class B, class C, class D>
__ingot_inline metal::vec<D, 64>
__metal_simdgroup_matrix_8x8_multiply_accumulate(metal::vec<A, 64> a, metal::vec<B, 64> b,
                                                 metal::vec<C, 64> c, metal::vec<D, 64> d) {
    metal::simdgroup_matrix<A, 8, 8> left;
    metal::simdgroup_matrix<B, 8, 8> right;
    metal::simdgroup_matrix<C, 8, 8> sum;
    metal::simdgroup_matrix<D, 8, 8> result;
    left.__elements = a.__elements;
    right.__elements = b.__elements;
    sum.__elements = c.__elements;
    metal::simdgroup_multiply_accumulate(result, left, right, sum);
    d.__elements = result.__elements;
    return d;
}
