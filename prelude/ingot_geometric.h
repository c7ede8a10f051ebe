/*
 * Geometric functions of vectors.
 */
#pragma once
#include "ingot_math.h"

namespace metal {
#define __INGOT_OF_FLOATS                                                                          \
    __ingot_warn_if((!__ingot_is_real<T>),                                                         \
                    "Apple's compiler has geometric functions of float and "                       \
                    "half vectors, and not of integers")
template <class T, int N> __ingot_inline T dot(vec<T, N> a, vec<T, N> b) __INGOT_OF_FLOATS {
    vec<T, N> p = a * b;
    T r = p[0];
    for (int i = 1; i < N; i++) {
        r += p[i];
    }
    return r;
}
template <class T> __ingot_inline vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) __INGOT_OF_FLOATS {
    return a.yzx * b.zxy - a.zxy * b.yzx;
}
template <class T, int N> __ingot_inline T length_squared(vec<T, N> a) {
    return dot(a, a);
}
template <class T, int N> __ingot_inline T distance_squared(vec<T, N> a, vec<T, N> b) {
    return length_squared(a - b);
}
template <class T, int N>
__ingot_inline vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> reference) {
    return dot(reference, i) < T(0) ? n : -n;
}
template <class T, int N> __ingot_inline vec<T, N> reflect(vec<T, N> i, vec<T, N> n) {
    return i - n * (T(2) * dot(n, i));
}

#define __INGOT_LENGTHS(space)                                                                     \
    template <class T, int N> __ingot_inline T length(vec<T, N> a) __INGOT_OF_FLOATS {             \
        return space sqrt(dot(a, a));                                                              \
    }                                                                                              \
    template <class T, int N> __ingot_inline T distance(vec<T, N> a, vec<T, N> b) {                \
        return space sqrt(length_squared(a - b));                                                  \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> normalize(vec<T, N> a) __INGOT_OF_FLOATS {  \
        return a * vec<T, N>(space rsqrt(dot(a, a)));                                              \
    }                                                                                              \
    template <class T, int N>                                                                      \
    __ingot_inline vec<T, N> refract(vec<T, N> i, vec<T, N> n, type_identity_t<T> eta) {           \
        T d = dot(n, i);                                                                           \
        T k = T(1) - eta * eta * (T(1) - d * d);                                                   \
        return k < T(0) ? vec<T, N>(T(0)) : i * eta - n * (eta * d + space sqrt(k));               \
    }
__INGOT_LENGTHS(metal::)
namespace precise {
__INGOT_LENGTHS(metal::precise::)
}
namespace fast {
__INGOT_LENGTHS(metal::fast::)
}
#undef __INGOT_LENGTHS
#undef __INGOT_OF_FLOATS
} // namespace metal
