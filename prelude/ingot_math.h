/*
 * MSL's maths and common functions in namespace metal, metal::precise and metal::fast, for
 * float, half, bfloat and vectors of them, on top of the scalar float functions of the
 * ingot_math_*.h headers. half and bfloat are computed in float and rounded once.
 *
 * float and half have ordinary overloads. Everything else (bfloat, integers, arguments of
 * different types, vectors, a vector with a scalar) goes through constrained templates, so
 * that a kernel's own overloads win and mixed calls have one meaning: the result is float if
 * an argument is float or half meets bfloat, else the floating type that occurs. Integer
 * arguments alone give float, except for the names that ingot_integer.h defines.
 *
 * Requires ingot_types.h. Names that MSL does not have (log1p, erf, hypot, …) stay free.
 */
#pragma once
#include "ingot_integer.h"
#include "ingot_types.h"

#pragma float_control(push)
#include "ingot_math_arc.h"
#include "ingot_math_basic.h"
#include "ingot_math_exp.h"
#include "ingot_math_log.h"
#include "ingot_math_trig.h"

/* ---- the default form: fast or precise as the program was compiled ------------------- */
#define __INGOT_MATH_DEFAULT_1(name, ...)                                                          \
    __INGOT_MATH float __ingot_math_##name##_default(float x) {                                    \
        return __ingot_fast_math() ? __ingot_math_##name##_fast(x)                                 \
                                   : __ingot_math_##name##_precise(x);                             \
    }
#define __INGOT_MATH_DEFAULT_2(name, ...)                                                          \
    __INGOT_MATH float __ingot_math_##name##_default(float x, float y) {                           \
        return __ingot_fast_math() ? __ingot_math_##name##_fast(x, y)                              \
                                   : __ingot_math_##name##_precise(x, y);                          \
    }
#define __INGOT_MATH_DEFAULT_3(name, ...)                                                          \
    __INGOT_MATH float __ingot_math_##name##_default(float x, float y, float z) {                  \
        return __ingot_fast_math() ? __ingot_math_##name##_fast(x, y, z)                           \
                                   : __ingot_math_##name##_precise(x, y, z);                       \
    }

/* X(name, how half is computed, whether integers alone are accepted). The fast forms serve
 * half where they are right to more than its 11 bits, special values included; NAME_half are
 * between the two. */
#define __INGOT_MATH_1(X)                                                                          \
    X(abs, fast, false)                                                                            \
    X(acos, precise, true)                                                                         \
    X(acosh, precise, true)                                                                        \
    X(asin, precise, true)                                                                         \
    X(asinh, precise, true)                                                                        \
    X(atan, precise, true)                                                                         \
    X(atanh, precise, true)                                                                        \
    X(ceil, fast, true)                                                                            \
    X(cos, half, true)                                                                             \
    X(cosh, precise, true)                                                                         \
    X(cospi, precise, true)                                                                        \
    X(exp, fast, true)                                                                             \
    X(exp10, fast, true)                                                                           \
    X(exp2, fast, true)                                                                            \
    X(fabs, fast, true)                                                                            \
    X(floor, fast, true)                                                                           \
    X(fract, fast, true)                                                                           \
    X(log, fast, true)                                                                             \
    X(log10, fast, true)                                                                           \
    X(log2, fast, true)                                                                            \
    X(rint, fast, true)                                                                            \
    X(round, fast, true)                                                                           \
    X(rsqrt, fast, true)                                                                           \
    X(saturate, precise, true)                                                                     \
    X(sign, fast, true)                                                                            \
    X(sin, half, true)                                                                             \
    X(sinh, precise, true)                                                                         \
    X(sinpi, precise, true)                                                                        \
    X(sqrt, fast, true)                                                                            \
    X(tan, half, true)                                                                             \
    X(tanh, precise, true)                                                                         \
    X(tanpi, precise, true)                                                                        \
    X(trunc, fast, true)
#define __INGOT_MATH_2(X)                                                                          \
    X(atan2, precise, true)                                                                        \
    X(copysign, fast, true)                                                                        \
    X(divide, precise, true)                                                                       \
    X(fdim, precise, true)                                                                         \
    X(fmax, precise, true)                                                                         \
    X(fmin, precise, true)                                                                         \
    X(fmod, precise, true)                                                                         \
    X(max, precise, false)                                                                         \
    X(min, precise, false)                                                                         \
    X(pow, half, true)                                                                             \
    X(powr, half, true)                                                                            \
    X(step, fast, true)
#define __INGOT_MATH_3(X)                                                                          \
    X(clamp, precise, false)                                                                       \
    X(fma, precise, true)                                                                          \
    X(fmax3, precise, true)                                                                        \
    X(fmedian3, precise, true)                                                                     \
    X(fmin3, precise, true)                                                                        \
    X(max3, precise, false)                                                                        \
    X(median3, precise, false)                                                                     \
    X(min3, precise, false)                                                                        \
    X(mix, precise, true)                                                                          \
    X(smoothstep, precise, true)

__INGOT_MATH_1(__INGOT_MATH_DEFAULT_1)
__INGOT_MATH_2(__INGOT_MATH_DEFAULT_2)
__INGOT_MATH_3(__INGOT_MATH_DEFAULT_3)
__INGOT_MATH_DEFAULT_2(nextafter)
__INGOT_MATH float __ingot_math_sincos_default(float x, float *cosine) {
    return __ingot_fast_math() ? __ingot_math_sincos_fast(x, cosine)
                               : __ingot_math_sincos_precise(x, cosine);
}

namespace metal {
/* ---- which template takes a call ----------------------------------------------------- */
template <class T>
constexpr bool __ingot_math_floating =
    __is_same(T, float) || __is_same(T, half) || __is_same(T, bfloat) || __is_same(T, double);

template <bool Float, bool Half, bool Bfloat> struct __ingot_math_common {
    using type = float;
};
template <> struct __ingot_math_common<false, true, false> {
    using type = half;
};
template <> struct __ingot_math_common<false, false, true> {
    using type = bfloat;
};
template <bool Accepted, class T> struct __ingot_math_accept {};
template <class T> struct __ingot_math_accept<true, T> {
    using type = T;
};

/* The result for scalars that are not all float and not all half; no type for anything else. */
template <bool Integers, class... A>
using __ingot_math_scalar = typename __ingot_math_accept<
    (__is_arithmetic(A) && ...) && !(__is_same(A, float) && ...) && !(__is_same(A, half) && ...) &&
        (Integers || (__ingot_math_floating<A> || ...)),
    typename __ingot_math_common<((__is_same(A, float) || __is_same(A, double)) || ...),
                                 (__is_same(A, half) || ...),
                                 (__is_same(A, bfloat) || ...)>::type>::type;

/* Apple's default forms are there for float, half and bfloat, and for integers where `integers`
 * (whether those alone become float) is false. precise:: and fast:: have one type. */
template <bool Float, bool Half, bool Bfloat>
constexpr bool __ingot_math_several = (int)Float + (int)Half + (int)Bfloat != 1;
template <bool Integers, class... A>
constexpr bool __ingot_math_ambiguous =
    Integers ? __ingot_math_several<((__is_same(A, float) || __is_same(A, double)) || ...),
                                    (__is_same(A, half) || ...), (__is_same(A, bfloat) || ...)>
             : __ingot_several_overloads<A...>;
#define __INGOT_MATH_WARN_default(...)                                                             \
    __ingot_warn_if((__ingot_math_ambiguous<__VA_ARGS__>), __INGOT_AMBIGUOUS)
#define __INGOT_MATH_WARN_precise(...)
#define __INGOT_MATH_WARN_fast(...)

/* The same for one argument, as a pack: templates that kernels define for integers are closer. */
template <bool Integers, class A, class... None>
using __ingot_math_alone =
    typename __ingot_math_accept<sizeof...(None) == 0, __ingot_math_scalar<Integers, A>>::type;

/* The vector among the arguments, when the others are the same vector or scalars. Packed vectors
 * count as vectors. */
template <class T> struct __ingot_math_as_vector {
    static constexpr int count = 0;
};
template <class T, int N> struct __ingot_math_as_vector<vec<T, N>> {
    static constexpr int count = __ingot_math_floating<T> ? N : 0;
};
template <class A> struct __ingot_math_unpacked {
    using type = A;
};
template <class T, int N> struct __ingot_math_unpacked<packed_vec<T, N>> {
    using type = vec<T, N>;
};
template <class T, int N>
struct __ingot_math_unpacked<__ingot_packed_operand<T, N>>
    : __ingot_math_unpacked<packed_vec<T, N>> {};
template <class A, class... B> struct __ingot_math_first_vector {
    using type = A;
};
template <class A, class B, class... C> struct __ingot_math_first_vector<A, B, C...> {
    using type = typename __ingot_math_first_vector<B, C...>::type;
};
template <class T, int N, class B, class... C>
struct __ingot_math_first_vector<vec<T, N>, B, C...> {
    using type = vec<T, N>;
};
template <class V, class... A>
using __ingot_math_vector_if =
    typename __ingot_math_accept<(__ingot_math_as_vector<V>::count > 0) &&
                                     ((__is_same(A, V) || __is_arithmetic(A)) && ...),
                                 V>::type;
template <class... A>
using __ingot_math_vector_of =
    __ingot_math_vector_if<typename __ingot_math_first_vector<A...>::type, A...>;
template <class... A>
using __ingot_math_vector = __ingot_math_vector_of<typename __ingot_math_unpacked<A>::type...>;

/* Component i of a vector, or the scalar itself, as T. */
template <class T, int N> __ingot_inline T __ingot_math_at(vec<T, N> a, int i) {
    return a.v[i];
}
template <class T, int N> __ingot_inline T __ingot_math_at(packed_vec<T, N> a, int i) {
    return a[i];
}
template <class T, int N> __ingot_inline T __ingot_math_at(__ingot_packed_operand<T, N> a, int i) {
    return a[i];
}
template <class T, class A> __ingot_inline T __ingot_math_at(A a, int) {
    return (T)(float)a;
}
/* V of f(0), f(1), … */
template <class V, class F> __ingot_inline V __ingot_math_each(F f) {
    if constexpr (__ingot_math_as_vector<V>::count == 2) {
        return V(f(0), f(1));
    } else if constexpr (__ingot_math_as_vector<V>::count == 3) {
        return V(f(0), f(1), f(2));
    } else {
        return V(f(0), f(1), f(2), f(3));
    }
}
#define __INGOT_MATH_LANE [=](int i) __attribute__((always_inline))

/* ---- one, two and three arguments ---------------------------------------------------- */
#define __INGOT_MATH_FORMS_1(form, name, half_form, integers)                                      \
    __ingot_inline float name(float x) {                                                           \
        return __ingot_math_##name##_##form(x);                                                    \
    }                                                                                              \
    __ingot_inline half name(half x) {                                                             \
        return (half)__ingot_math_##name##_##half_form((float)x);                                  \
    }                                                                                              \
    template <class A, class... None>                                                              \
    __ingot_inline __ingot_math_alone<integers, A, None...> name(A x, None...)                     \
        __INGOT_MATH_WARN_##form(integers, A) {                                                    \
        return (__ingot_math_scalar<integers, A>)__ingot_math_##name##_##form((float)x);           \
    }                                                                                              \
    template <class A> __ingot_inline __ingot_math_vector<A> name(A x) {                           \
        using V = __ingot_math_vector<A>;                                                          \
        using T = typename V::value_type;                                                          \
        return __ingot_math_each<V>(__INGOT_MATH_LANE { return name(__ingot_math_at<T>(x, i)); }); \
    }
#define __INGOT_MATH_FORMS_2(form, name, half_form, integers)                                      \
    __ingot_inline float name(float x, float y) {                                                  \
        return __ingot_math_##name##_##form(x, y);                                                 \
    }                                                                                              \
    __ingot_inline half name(half x, half y) {                                                     \
        return (half)__ingot_math_##name##_##half_form((float)x, (float)y);                        \
    }                                                                                              \
    template <class A, class B>                                                                    \
    __ingot_inline __ingot_math_scalar<integers, A, B> name(A x, B y)                              \
        __INGOT_MATH_WARN_##form(integers, A, B) {                                                 \
        using R = __ingot_math_scalar<integers, A, B>;                                             \
        return (R)__ingot_math_##name##_##form((float)x, (float)y);                                \
    }                                                                                              \
    template <class A, class B> __ingot_inline __ingot_math_vector<A, B> name(A x, B y) {          \
        using V = __ingot_math_vector<A, B>;                                                       \
        using T = typename V::value_type;                                                          \
        return __ingot_math_each<V>(__INGOT_MATH_LANE {                                            \
            return name(__ingot_math_at<T>(x, i), __ingot_math_at<T>(y, i));                       \
        });                                                                                        \
    }
#define __INGOT_MATH_FORMS_3(form, name, half_form, integers)                                      \
    __ingot_inline float name(float x, float y, float z) {                                         \
        return __ingot_math_##name##_##form(x, y, z);                                              \
    }                                                                                              \
    __ingot_inline half name(half x, half y, half z) {                                             \
        return (half)__ingot_math_##name##_##half_form((float)x, (float)y, (float)z);              \
    }                                                                                              \
    template <class A, class B, class C>                                                           \
    __ingot_inline __ingot_math_scalar<integers, A, B, C> name(A x, B y, C z)                      \
        __INGOT_MATH_WARN_##form(integers, A, B, C) {                                              \
        using R = __ingot_math_scalar<integers, A, B, C>;                                          \
        return (R)__ingot_math_##name##_##form((float)x, (float)y, (float)z);                      \
    }                                                                                              \
    template <class A, class B, class C>                                                           \
    __ingot_inline __ingot_math_vector<A, B, C> name(A x, B y, C z) {                              \
        using V = __ingot_math_vector<A, B, C>;                                                    \
        using T = typename V::value_type;                                                          \
        return __ingot_math_each<V>(__INGOT_MATH_LANE {                                            \
            return name(__ingot_math_at<T>(x, i), __ingot_math_at<T>(y, i),                        \
                        __ingot_math_at<T>(z, i));                                                 \
        });                                                                                        \
    }

/* ---- results in two parts, integers, and steps of the argument's own type ------------ */
/* A half's neighbours are not float's: the step is taken on its 16 bits. */
template <class T> __ingot_inline T __ingot_math_next16(T x, T y) {
    float from = (float)x, to = (float)y;
    ushort bits = __builtin_bit_cast(ushort, x);
    bool away = (from < to) == ((short)bits >= 0);
    ushort next = (ushort)(away ? bits + 1 : bits - 1);
    next = from == 0.0f ? (ushort)((__builtin_bit_cast(ushort, y) & 0x8000u) | 1u) : next;
    T r = from == to ? y : __builtin_bit_cast(T, next);
    return from != from ? x : (to != to ? y : r);
}
template <class T>
using __ingot_math_bfloat = typename __ingot_math_accept<__is_same(T, bfloat), bfloat>::type;

#define __INGOT_MATH_OTHERS(form)                                                                  \
    __ingot_inline float sincos(float x, float &cosine) {                                          \
        float c, s = __ingot_math_sincos_##form(x, &c);                                            \
        cosine = c;                                                                                \
        return s;                                                                                  \
    }                                                                                              \
    __ingot_inline half sincos(half x, half &cosine) {                                             \
        cosine = (half)__ingot_math_cos_half((float)x);                                            \
        return (half)__ingot_math_sin_half((float)x);                                              \
    }                                                                                              \
    template <class T> __ingot_inline __ingot_math_bfloat<T> sincos(T x, T &cosine) {              \
        float c, s = __ingot_math_sincos_##form((float)x, &c);                                     \
        cosine = (T)c;                                                                             \
        return (T)s;                                                                               \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> sincos(vec<T, N> x, vec<T, N> &cosine) {    \
        cosine = cos(x);                                                                           \
        return sin(x);                                                                             \
    }                                                                                              \
    __ingot_inline float modf(float x, float &whole) {                                             \
        float w, r = __ingot_math_modf(x, &w);                                                     \
        whole = w;                                                                                 \
        return r;                                                                                  \
    }                                                                                              \
    __ingot_inline half modf(half x, half &whole) {                                                \
        float w, r = __ingot_math_modf((float)x, &w);                                              \
        whole = (half)w;                                                                           \
        return (half)r;                                                                            \
    }                                                                                              \
    template <class T> __ingot_inline __ingot_math_bfloat<T> modf(T x, T &whole) {                 \
        float w, r = __ingot_math_modf((float)x, &w);                                              \
        whole = (T)w;                                                                              \
        return (T)r;                                                                               \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> modf(vec<T, N> x, vec<T, N> &whole) {       \
        vec<T, N> rest;                                                                            \
        for (int i = 0; i < N; i++) {                                                              \
            T w;                                                                                   \
            rest[i] = modf((T)x[i], w);                                                            \
            whole[i] = w;                                                                          \
        }                                                                                          \
        return rest;                                                                               \
    }                                                                                              \
    __ingot_inline float frexp(float x, int &exponent) {                                           \
        int e;                                                                                     \
        float r = __ingot_math_frexp(x, &e);                                                       \
        exponent = e;                                                                              \
        return r;                                                                                  \
    }                                                                                              \
    __ingot_inline half frexp(half x, int &exponent) {                                             \
        int e;                                                                                     \
        half r = (half)__ingot_math_frexp((float)x, &e);                                           \
        exponent = e;                                                                              \
        return r;                                                                                  \
    }                                                                                              \
    template <class T> __ingot_inline __ingot_math_bfloat<T> frexp(T x, int &exponent) {           \
        int e;                                                                                     \
        T r = (T)__ingot_math_frexp((float)x, &e);                                                 \
        exponent = e;                                                                              \
        return r;                                                                                  \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> frexp(vec<T, N> x, vec<int, N> &exponent) { \
        vec<T, N> rest;                                                                            \
        for (int i = 0; i < N; i++) {                                                              \
            int e;                                                                                 \
            rest[i] = frexp((T)x[i], e);                                                           \
            exponent[i] = e;                                                                       \
        }                                                                                          \
        return rest;                                                                               \
    }                                                                                              \
    __ingot_inline float ldexp(float x, int k) {                                                   \
        return __ingot_math_ldexp(x, k);                                                           \
    }                                                                                              \
    __ingot_inline half ldexp(half x, int k) {                                                     \
        return (half)__ingot_math_ldexp((float)x, k);                                              \
    }                                                                                              \
    template <class T> __ingot_inline __ingot_math_bfloat<T> ldexp(T x, int k) {                   \
        return (T)__ingot_math_ldexp((float)x, k);                                                 \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> ldexp(vec<T, N> x, vec<int, N> k) {         \
        return __ingot_math_each<vec<T, N>>(                                                       \
            __INGOT_MATH_LANE { return ldexp((T)x.v[i], (int)k.v[i]); });                          \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> ldexp(vec<T, N> x, int k) {                 \
        return __ingot_math_each<vec<T, N>>(__INGOT_MATH_LANE { return ldexp((T)x.v[i], k); });    \
    }                                                                                              \
    __ingot_inline int ilogb(float x) {                                                            \
        return __ingot_math_ilogb(x);                                                              \
    }                                                                                              \
    __ingot_inline int ilogb(half x) {                                                             \
        return __ingot_math_ilogb((float)x);                                                       \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline typename __ingot_math_accept<__is_same(T, bfloat), int>::type ilogb(T x) {      \
        return __ingot_math_ilogb((float)x);                                                       \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<int, N> ilogb(vec<T, N> x) {                      \
        vec<int, N> r;                                                                             \
        for (int i = 0; i < N; i++) {                                                              \
            r[i] = __ingot_math_ilogb((float)x[i]);                                                \
        }                                                                                          \
        return r;                                                                                  \
    }                                                                                              \
    __ingot_inline float nextafter(float x, float y) {                                             \
        return __ingot_math_nextafter_precise(x, y);                                               \
    }                                                                                              \
    __ingot_inline half nextafter(half x, half y) {                                                \
        return __ingot_math_next16(x, y);                                                          \
    }                                                                                              \
    template <class T> __ingot_inline __ingot_math_bfloat<T> nextafter(T x, T y) {                 \
        return __ingot_math_next16(x, y);                                                          \
    }                                                                                              \
    template <class T, int N> __ingot_inline vec<T, N> nextafter(vec<T, N> x, vec<T, N> y) {       \
        return __ingot_math_each<vec<T, N>>(                                                       \
            __INGOT_MATH_LANE { return nextafter((T)x.v[i], (T)y.v[i]); });                        \
    }

/* ---- the three namespaces ------------------------------------------------------------ */
#define __INGOT_MATH_DEFAULT_FORMS_1(...) __INGOT_MATH_FORMS_1(default, __VA_ARGS__)
#define __INGOT_MATH_DEFAULT_FORMS_2(...) __INGOT_MATH_FORMS_2(default, __VA_ARGS__)
#define __INGOT_MATH_DEFAULT_FORMS_3(...) __INGOT_MATH_FORMS_3(default, __VA_ARGS__)
__INGOT_MATH_1(__INGOT_MATH_DEFAULT_FORMS_1)
__INGOT_MATH_2(__INGOT_MATH_DEFAULT_FORMS_2)
__INGOT_MATH_3(__INGOT_MATH_DEFAULT_FORMS_3)
__INGOT_MATH_OTHERS(default)

/* Names that integers share have one form for them, which precise:: and fast:: offer as well. */
#define __INGOT_MATH_INTEGERS                                                                      \
    template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> abs(T x) {                \
        return (T)metal::abs(+x);                                                                  \
    }                                                                                              \
    template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> max(T x, T y) {           \
        return (T)metal::max(+x, +y);                                                              \
    }                                                                                              \
    template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> min(T x, T y) {           \
        return (T)metal::min(+x, +y);                                                              \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline constexpr __ingot_if_integer<T, T> clamp(T x, T low, T high) {                  \
        return (T)metal::clamp(+x, +low, +high);                                                   \
    }

namespace precise {
#define __INGOT_MATH_PRECISE_FORMS_1(...) __INGOT_MATH_FORMS_1(precise, __VA_ARGS__)
#define __INGOT_MATH_PRECISE_FORMS_2(...) __INGOT_MATH_FORMS_2(precise, __VA_ARGS__)
#define __INGOT_MATH_PRECISE_FORMS_3(...) __INGOT_MATH_FORMS_3(precise, __VA_ARGS__)
__INGOT_MATH_1(__INGOT_MATH_PRECISE_FORMS_1)
__INGOT_MATH_2(__INGOT_MATH_PRECISE_FORMS_2)
__INGOT_MATH_3(__INGOT_MATH_PRECISE_FORMS_3)
__INGOT_MATH_OTHERS(precise)
__INGOT_MATH_INTEGERS
} // namespace precise

namespace fast {
#define __INGOT_MATH_FAST_FORMS_1(...) __INGOT_MATH_FORMS_1(fast, __VA_ARGS__)
#define __INGOT_MATH_FAST_FORMS_2(...) __INGOT_MATH_FORMS_2(fast, __VA_ARGS__)
#define __INGOT_MATH_FAST_FORMS_3(...) __INGOT_MATH_FORMS_3(fast, __VA_ARGS__)
__INGOT_MATH_1(__INGOT_MATH_FAST_FORMS_1)
__INGOT_MATH_2(__INGOT_MATH_FAST_FORMS_2)
__INGOT_MATH_3(__INGOT_MATH_FAST_FORMS_3)
__INGOT_MATH_OTHERS(fast)
__INGOT_MATH_INTEGERS
} // namespace fast
} // namespace metal

#pragma float_control(pop)
