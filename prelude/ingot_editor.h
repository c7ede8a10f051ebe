/*
 * Metal for editors: the library and the language's own words, for clangd and other programs that
 * run clang on unchanged sources (`ingot editor` writes the flags). ingotc does not use it.
 */
#pragma once
#include "ingot_prelude.h"

#define kernel      __attribute__((annotate("kernel")))
#define vertex      __attribute__((annotate("vertex")))
#define fragment    __attribute__((annotate("fragment")))
#define device      __attribute__((opencl_global))
#define threadgroup __attribute__((opencl_local))
#define constant    const /* clang takes no array in another address space as an argument */
#define thread
/* With and without an argument: a macro of this name is taken before ( alone, and elsewhere it is a
 * qualifier that clang drops with a message. */
#define coherent __restrict__
#define __restrict__(...)

/* Vectors by ext_vector_type are clang's own here, which the library's functions do not take. */
namespace metal {
#define __INGOT_NATIVE_1(name)                                                                     \
    template <class T, int N> constexpr __ingot_native<T, N> name(__ingot_native<T, N> x);
#define __INGOT_NATIVE_2(name)                                                                     \
    template <class T, int N>                                                                      \
    constexpr __ingot_native<T, N> name(__ingot_native<T, N> x, __ingot_native<T, N> y);
#define __INGOT_NATIVE_3(name)                                                                     \
    template <class T, int N>                                                                      \
    constexpr __ingot_native<T, N> name(__ingot_native<T, N> x, __ingot_native<T, N> y,            \
                                        __ingot_native<T, N> z);
__INGOT_NATIVE_1(abs)
__INGOT_NATIVE_1(ceil)
__INGOT_NATIVE_1(cos)
__INGOT_NATIVE_1(exp)
__INGOT_NATIVE_1(exp2)
__INGOT_NATIVE_1(fabs)
__INGOT_NATIVE_1(floor)
__INGOT_NATIVE_1(fract)
__INGOT_NATIVE_1(log)
__INGOT_NATIVE_1(log2)
__INGOT_NATIVE_1(rint)
__INGOT_NATIVE_1(round)
__INGOT_NATIVE_1(rsqrt)
__INGOT_NATIVE_1(sin)
__INGOT_NATIVE_1(sqrt)
__INGOT_NATIVE_1(tanh)
__INGOT_NATIVE_1(trunc)
__INGOT_NATIVE_2(fmax)
__INGOT_NATIVE_2(fmin)
__INGOT_NATIVE_2(max)
__INGOT_NATIVE_2(min)
__INGOT_NATIVE_2(pow)
__INGOT_NATIVE_3(clamp)
__INGOT_NATIVE_3(fma)
__INGOT_NATIVE_3(mix)
#undef __INGOT_NATIVE_1
#undef __INGOT_NATIVE_2
#undef __INGOT_NATIVE_3
template <class T, int N> constexpr bool all(__ingot_native<T, N> x);
template <class T, int N> constexpr bool any(__ingot_native<T, N> x);
template <class T, class B, int N>
constexpr __ingot_native<T, N> select(__ingot_native<T, N> x, __ingot_native<T, N> y,
                                      __ingot_native<B, N> second);
template <class T, int N> constexpr T dot(__ingot_native<T, N> x, __ingot_native<T, N> y);
template <class T, int N> constexpr T length(__ingot_native<T, N> x);
} // namespace metal

/* 1.5h */
constexpr half operator""h(long double value) {
    return half(value);
}
constexpr half operator""h(unsigned long long value) {
    return half(value);
}
constexpr half operator"" H(long double value) {
    return half(value);
}
constexpr bfloat operator"" bf(long double value) {
    return bfloat(value);
}
constexpr bfloat operator"" BF(long double value) {
    return bfloat(value);
}

template <class T> constexpr bool is_function_constant_defined(const T &) {
    return true;
}
