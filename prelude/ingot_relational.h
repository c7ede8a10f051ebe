/*
 * any, all, select and the questions about floating point numbers.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
__ingot_inline constexpr bool any(bool x) {
    return x;
}
__ingot_inline constexpr bool all(bool x) {
    return x;
}
template <int N> __ingot_inline constexpr bool any(vec<bool, N> x) {
    bool r = x[0];
    for (int i = 1; i < N; i++) {
        r |= x[i];
    }
    return r;
}
template <int N> __ingot_inline constexpr bool all(vec<bool, N> x) {
    bool r = x[0];
    for (int i = 1; i < N; i++) {
        r &= x[i];
    }
    return r;
}

/* b where c is true, a elsewhere. */
#define __INGOT_SELECT(T)                                                                          \
    __ingot_inline constexpr T select(T a, T b, bool c) {                                          \
        return c ? b : a;                                                                          \
    }
__INGOT_SCALARS(__INGOT_SELECT)
#undef __INGOT_SELECT
/* Arguments of different types. */
template <class A, class B,
          class = enable_if_t<__ingot_is_number<A> && __ingot_is_number<B> && !is_same_v<A, B>>>
__ingot_inline constexpr auto select(A a, B b, bool c) __ingot_warn_if(true, __INGOT_AMBIGUOUS) {
    return c ? b : a;
}
template <class T, int N>
__ingot_inline constexpr vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
    vec<T, N> r = a;
    for (int i = 0; i < N; i++) {
        r[i] = c[i] ? b[i] : a[i];
    }
    return r;
}
template <class T, int N>
__ingot_inline constexpr vec<T, N> select(vec<T, N> a, vec<T, N> b, bool c) {
    return select(a, b, vec<bool, N>(c));
}
template <class T, int N, class U, class = enable_if_t<__ingot_is_number<U>>>
__ingot_inline constexpr vec<T, N> select(vec<T, N> a, U b, vec<bool, N> c) {
    return select(a, vec<T, N>((T)b), c);
}
template <class U, class T, int N, class = enable_if_t<__ingot_is_number<U>>, class = void>
__ingot_inline constexpr vec<T, N> select(U a, vec<T, N> b, vec<bool, N> c) {
    return select(vec<T, N>((T)a), b, c);
}
/* In every component, by the component's highest bit: Metal's form for integer conditions. */
template <class T, class I, int N,
          class = enable_if_t<__ingot_is_integer<I> && !is_same_v<I, bool>>>
__ingot_inline constexpr vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<I, N> c) {
    vec<T, N> r = a;
    for (int i = 0; i < N; i++) {
        r[i] = make_signed_t<I>(c[i]) < 0 ? b[i] : a[i];
    }
    return r;
}

/* Each question for float and half; integers and bfloat go through float. */
__ingot_inline constexpr bool isnan(float x) {
    return x != x;
}
__ingot_inline constexpr bool isnan(half x) {
    return x != x;
}
__ingot_inline constexpr bool isinf(float x) {
    return __builtin_fabsf(x) == __builtin_inff();
}
__ingot_inline constexpr bool isinf(half x) {
    return isinf((float)x);
}
__ingot_inline constexpr bool isfinite(float x) {
    return __builtin_fabsf(x) < __builtin_inff();
}
__ingot_inline constexpr bool isfinite(half x) {
    return isfinite((float)x);
}
__ingot_inline constexpr bool isnormal(float x) {
    return __builtin_fabsf(x) >= FLT_MIN && isfinite(x);
}
__ingot_inline constexpr bool isnormal(half x) {
    return __builtin_fabsf((float)x) >= (float)HALF_MIN && isfinite((float)x);
}
__ingot_inline constexpr bool signbit(float x) {
    return __builtin_bit_cast(int, x) < 0;
}
__ingot_inline constexpr bool signbit(half x) {
    return __builtin_bit_cast(short, x) < 0;
}
#define __INGOT_QUESTION(f)                                                                        \
    template <class T, class = enable_if_t<is_same_v<T, bfloat> || __ingot_is_integer<T>>>         \
    __ingot_inline constexpr bool f(T x)                                                           \
        __ingot_warn_if((!is_same_v<T, bfloat>), __INGOT_AMBIGUOUS) {                              \
        return f((float)x);                                                                        \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<bool, N> f(vec<T, N> x) {                         \
        vec<bool, N> r;                                                                            \
        for (int i = 0; i < N; i++) {                                                              \
            r[i] = f(T(x[i]));                                                                     \
        }                                                                                          \
        return r;                                                                                  \
    }
__INGOT_QUESTION(isnan)
__INGOT_QUESTION(isinf)
__INGOT_QUESTION(isfinite)
__INGOT_QUESTION(isnormal)
__INGOT_QUESTION(signbit)
#undef __INGOT_QUESTION

template <class T, class = enable_if_t<__ingot_is_real<T>>>
__ingot_inline constexpr bool isunordered(T a, type_identity_t<T> b) {
    return isnan(a) || isnan(b);
}
template <class T, class = enable_if_t<__ingot_is_real<T>>>
__ingot_inline constexpr bool isordered(T a, type_identity_t<T> b) {
    return !isnan(a) && !isnan(b);
}
template <class T, int N> __ingot_inline vec<bool, N> isunordered(vec<T, N> a, vec<T, N> b) {
    return isnan(a) || isnan(b);
}
template <class T, int N> __ingot_inline vec<bool, N> isordered(vec<T, N> a, vec<T, N> b) {
    return !(isnan(a) || isnan(b));
}
template <class T, int N> __ingot_inline vec<bool, N> isequal(vec<T, N> a, vec<T, N> b) {
    return a == b;
}
template <class T, int N> __ingot_inline vec<bool, N> isnotequal(vec<T, N> a, vec<T, N> b) {
    return a != b;
}

/* precise:: and fast:: hold the same questions. */
namespace precise {
using metal::isfinite;
using metal::isinf;
using metal::isnan;
using metal::isnormal;
using metal::signbit;
} // namespace precise
namespace fast {
using metal::isfinite;
using metal::isinf;
using metal::isnan;
using metal::isnormal;
using metal::signbit;
} // namespace fast
} // namespace metal
