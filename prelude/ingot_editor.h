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
#define coherent(...)

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
