/*
 * vec<T, N>: a native vector in a union with its components, so that both whole-vector
 * arithmetic and references to components work. Swizzles are properties (get and put), made by
 * the macros of ingot_swizzles.h. A put stores only the components it names, since other threads
 * may own the others. bool vectors hold one byte per component.
 *
 * vec is another name of __ingot_vec<the native vector type> (ingot_traits.h): as in Metal, the
 * length is deduced for template parameters of any integer type.
 *
 * The copy constructor from a volatile vector makes vec pass through memory at calls. In
 * registers the x86 convention would cut it into pieces of other types, and the traces of that
 * stay in the code after inlining; memory leaves none.
 *
 * No operator in the prelude is visible to ordinary lookup: all are friends. Where a template
 * sees an operator function, clang keeps the operator for later in a form that forgets about
 * properties, and `v.xy * 2` in a template would be an error.
 */
#pragma once
#include "ingot_swizzles.h"
#include "ingot_traits.h"

namespace metal {
template <class T, int N> struct packed_vec;
template <class T, int N> struct __ingot_packed_operand;
template <class T, int N> struct __ingot_assigned {
    const vec<T, N> &value;
    __ingot_inline constexpr __ingot_assigned(const vec<T, N> &x) : value(x) {}
};

template <class T> struct __ingot_storage {
    using type = T;
};
template <> struct __ingot_storage<bool> {
    using type = uchar;
};

template <class T> constexpr int __ingot_short_float = 0;
template <> inline constexpr int __ingot_short_float<half> = 1;
template <> inline constexpr int __ingot_short_float<bfloat> = 2;
/* static_cast of scalars; clang refuses the conversion between half and bfloat. */
template <class T, class F> __ingot_inline constexpr T __ingot_to(F x) {
    if constexpr (__ingot_short_float<T> * __ingot_short_float<F> == 2) {
        return (T)(float)x;
    } else {
        return (T)x;
    }
}

struct __ingot_raw {};

/* In braces the components that are missing are 0; in parentheses Apple's compiler wants all. The
 * front end drops the warning where there are braces. */
#define __INGOT_TOO_FEW "Apple's compiler refuses a vector of too few components"

/* In constant expressions clang knows components only. */
#define __INGOT_IF_CONSTANT(value)                                                                 \
    if (__builtin_is_constant_evaluated()) {                                                       \
        return value;                                                                              \
    }

#define __INGOT_BINARY_2(op) a.x op b.x, a.y op b.y
#define __INGOT_BINARY_3(op) a.x op b.x, a.y op b.y, a.z op b.z
#define __INGOT_BINARY_4(op) a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w
#define __INGOT_BINARY_8(op)                                                                       \
    __INGOT_BINARY_4(op), a.s4 op b.s4, a.s5 op b.s5, a.s6 op b.s6, a.s7 op b.s7
#define __INGOT_BINARY_16(op)                                                                      \
    __INGOT_BINARY_8(op), a.s8 op b.s8, a.s9 op b.s9, a.sa op b.sa, a.sb op b.sb, a.sc op b.sc,    \
        a.sd op b.sd, a.se op b.se, a.sf op b.sf
#define __INGOT_UNARY_2(op) op a.x, op a.y
#define __INGOT_UNARY_3(op) op a.x, op a.y, op a.z
#define __INGOT_UNARY_4(op) op a.x, op a.y, op a.z, op a.w
#define __INGOT_UNARY_8(op) __INGOT_UNARY_4(op), op a.s4, op a.s5, op a.s6, op a.s7
#define __INGOT_UNARY_16(op)                                                                       \
    __INGOT_UNARY_8(op), op a.s8, op a.s9, op a.sa, op a.sb, op a.sc, op a.sd, op a.se, op a.sf

#define __INGOT_VEC_ARITHMETIC(N, op)                                                              \
    friend __ingot_inline constexpr __ingot_vec operator op(__ingot_vec a, __ingot_vec b) {        \
        __INGOT_IF_CONSTANT(__ingot_vec(__INGOT_BINARY_##N(op)))                                   \
        return __ingot_vec(__ingot_raw(), (E)(a.v op b.v));                                        \
    }                                                                                              \
    __ingot_inline constexpr __ingot_vec &operator op##=(__ingot_vec b) {                          \
        if (__builtin_is_constant_evaluated()) {                                                   \
            return *this = *this op b;                                                             \
        }                                                                                          \
        v = (E)(v op b.v);                                                                         \
        return *this;                                                                              \
    }
/* A shift counts modulo the width of a component, and may count in another type. */
#define __INGOT_VEC_SHIFT(N, op)                                                                   \
    friend __ingot_inline constexpr __ingot_vec operator op(__ingot_vec a, __ingot_vec b) {        \
        if (__builtin_is_constant_evaluated()) {                                                   \
            b = b & __ingot_vec((T)(sizeof(T) * 8 - 1));                                           \
            return __ingot_vec(__INGOT_BINARY_##N(op));                                            \
        }                                                                                          \
        return __ingot_vec(__ingot_raw(), (E)(a.v op b.v));                                        \
    }                                                                                              \
    __ingot_inline constexpr __ingot_vec &operator op##=(__ingot_vec b) {                          \
        if (__builtin_is_constant_evaluated()) {                                                   \
            return *this = *this op b;                                                             \
        }                                                                                          \
        v = (E)(v op b.v);                                                                         \
        return *this;                                                                              \
    }                                                                                              \
    template <class U, class = enable_if_t<!__is_same(U, T)>>                                      \
    friend __ingot_inline constexpr __ingot_vec operator op(__ingot_vec a, vec<U, N> b) {          \
        return a op __ingot_vec(b);                                                                \
    }                                                                                              \
    template <class U, class = enable_if_t<!__is_same(U, T)>>                                      \
    __ingot_inline constexpr __ingot_vec &operator op##=(vec<U, N> b) {                            \
        return *this op## = __ingot_vec(b);                                                        \
    }
#define __INGOT_VEC_COMPARISON(N, op)                                                              \
    friend __ingot_inline constexpr vec<bool, N> operator op(__ingot_vec a, __ingot_vec b) {       \
        using B = __ingot_native<uchar, N>;                                                        \
        using R = vec<bool, N>;                                                                    \
        __INGOT_IF_CONSTANT(R(__INGOT_BINARY_##N(op)))                                             \
        auto m = a.v op b.v;                                                                       \
        return R(__ingot_raw(), (B)(__builtin_convertvector(m, B) & B(1)));                        \
    }
#define __INGOT_VEC_LOGIC(N, op, bits)                                                             \
    friend __ingot_inline constexpr vec<bool, N> operator op(__ingot_vec a, __ingot_vec b) {       \
        return vec<bool, N>(a) bits vec<bool, N>(b);                                               \
    }
#define __INGOT_VEC_UNARY(N, op)                                                                   \
    friend __ingot_inline constexpr __ingot_vec operator op(__ingot_vec a) {                       \
        __INGOT_IF_CONSTANT(__ingot_vec(__INGOT_UNARY_##N(op)))                                    \
        return __ingot_vec(__ingot_raw(), op a.v);                                                 \
    }
#define __INGOT_VEC_STEP(op)                                                                       \
    __ingot_inline __ingot_vec &operator op##op() {                                                \
        v = v op(S) 1;                                                                             \
        return *this;                                                                              \
    }                                                                                              \
    __ingot_inline __ingot_vec operator op##op(int) {                                              \
        __ingot_vec old = *this;                                                                   \
        v = v op(S) 1;                                                                             \
        return old;                                                                                \
    }

#ifdef __INGOT_EDITOR__ /* ext_vector_type is clang's own there */
#define __INGOT_VEC_OF_NATIVE(N)                                                                   \
    template <class U> constexpr __ingot_vec(__ingot_native<U, N>) : __ingot_vec(T(0)) {}
#else
#define __INGOT_VEC_OF_NATIVE(N)
#endif

/* What vectors of every length share. */
#define __INGOT_VEC_BODY(N)                                                                        \
    using value_type = T;                                                                          \
    using S = typename __ingot_storage<T>::type;                                                   \
    typedef S E __attribute__((ext_vector_type(N)));                                               \
    __ingot_vec() = default;                                                                       \
    __ingot_inline constexpr __ingot_vec(__ingot_raw, E e) : v(e) {}                               \
    __INGOT_VEC_OF_NATIVE(N)                                                                       \
    template <class U>                                                                             \
    __ingot_inline explicit constexpr __ingot_vec(packed_vec<U, N> o)                              \
        : __ingot_vec(o.__ingot_unpack()) {}                                                       \
    __ingot_inline __ingot_vec(const volatile __ingot_vec &o) : v(o.v) {}                          \
    __ingot_vec(const __ingot_vec &) = default;                                                    \
    __ingot_vec &operator=(const __ingot_vec &) = default;                                         \
    /* For volatile vectors; its operand is converted, so that it is nowhere else a better match.  \
     */                                                                                            \
    __ingot_inline void operator=(__ingot_assigned<T, N> o) volatile {                             \
        v = o.value.v;                                                                             \
    }                                                                                              \
    /* A value also where a template would see a property. */                                      \
    __ingot_inline constexpr __ingot_vec __ingot_self() const {                                    \
        return *this;                                                                              \
    }                                                                                              \
    __ingot_inline T &operator[](size_t i) {                                                       \
        return (*(T(*)[N]) & x)[i];                                                                \
    }                                                                                              \
    __ingot_inline const T &operator[](size_t i) const {                                           \
        return (*(const T(*)[N]) & x)[i];                                                          \
    }                                                                                              \
    __INGOT_VEC_ARITHMETIC(N, +)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, -)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, *)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, /)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, %)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, &)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, |)                                                                   \
    __INGOT_VEC_ARITHMETIC(N, ^)                                                                   \
    __INGOT_VEC_SHIFT(N, <<)                                                                       \
    __INGOT_VEC_SHIFT(N, >>)                                                                       \
    __INGOT_VEC_COMPARISON(N, ==)                                                                  \
    __INGOT_VEC_COMPARISON(N, !=)                                                                  \
    __INGOT_VEC_COMPARISON(N, <)                                                                   \
    __INGOT_VEC_COMPARISON(N, >)                                                                   \
    __INGOT_VEC_COMPARISON(N, <=)                                                                  \
    __INGOT_VEC_COMPARISON(N, >=)                                                                  \
    __INGOT_VEC_LOGIC(N, &&, &)                                                                    \
    __INGOT_VEC_LOGIC(N, ||, |)                                                                    \
    __INGOT_VEC_STEP(+)                                                                            \
    __INGOT_VEC_STEP(-)                                                                            \
    __INGOT_VEC_UNARY(N, -)                                                                        \
    __INGOT_VEC_UNARY(N, ~)                                                                        \
    friend __ingot_inline constexpr __ingot_vec operator+(__ingot_vec a) {                         \
        return a;                                                                                  \
    }                                                                                              \
    friend __ingot_inline constexpr vec<bool, N> operator!(__ingot_vec a) {                        \
        return a == __ingot_vec(T(0));                                                             \
    }

/* The unevaluated assignment lets clang refuse a word with a repeated letter. */
#define __INGOT_SWIZZLE_GET(n, word, ...)                                                          \
    __ingot_inline constexpr vec<T, n> __ingot_get_##word() const {                                \
        using R = vec<T, n>;                                                                       \
        __INGOT_IF_CONSTANT(R(__VA_ARGS__))                                                        \
        return R(__ingot_raw(), v.word);                                                           \
    }
#define __INGOT_SWIZZLE_PUT(n, word, ...)                                                          \
    __ingot_inline void __ingot_put_##word(vec<T, n> o) {                                          \
        using check = decltype(v.word = o.v);                                                      \
        if constexpr (n * sizeof(S) == sizeof(v)) {                                                \
            v.word = o.v;                                                                          \
        } else {                                                                                   \
            __INGOT_PUT_##n(__VA_ARGS__)                                                           \
        }                                                                                          \
    }
#define __INGOT_PUT_2(a, b)       a = o.x, b = o.y;
#define __INGOT_PUT_3(a, b, c)    a = o.x, b = o.y, c = o.z;
#define __INGOT_PUT_4(a, b, c, d) a = o.x, b = o.y, c = o.z, d = o.w;

template <class T> struct __ingot_vec<__ingot_native<T, 2>> {
    union {
        __ingot_native<typename __ingot_storage<T>::type, 2> v;
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
    };
    __INGOT_VEC_BODY(2)
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, 2> o)
        : x(__ingot_to<T>(o.x)), y(__ingot_to<T>(o.y)) {}
    /* The first components of a longer vector. */
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, 3> o)
        : x(__ingot_to<T>(o.x)), y(__ingot_to<T>(o.y)) {}
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, 4> o)
        : x(__ingot_to<T>(o.x)), y(__ingot_to<T>(o.y)) {}
    __ingot_inline constexpr __ingot_vec(T s) : x(s), y(s) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0) : x(x0), y(y0) {}
    __INGOT_SWIZZLES_2
};

template <class T> struct __ingot_vec<__ingot_native<T, 3>> {
    union {
        __ingot_native<typename __ingot_storage<T>::type, 3> v;
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
    };
    __INGOT_VEC_BODY(3)
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, 3> o)
        : x(__ingot_to<T>(o.x)), y(__ingot_to<T>(o.y)), z(__ingot_to<T>(o.z)) {}
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, 4> o)
        : x(__ingot_to<T>(o.x)), y(__ingot_to<T>(o.y)), z(__ingot_to<T>(o.z)) {}
    __ingot_inline constexpr __ingot_vec(T s) : x(s), y(s), z(s) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0, T z0) : x(x0), y(y0), z(z0) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0) __ingot_warn_if(true, __INGOT_TOO_FEW)
        : x(x0), y(y0), z(0) {}
    __ingot_inline constexpr __ingot_vec(T x0, vec<T, 2> p) : x(x0), y(p.x), z(p.y) {}
    __ingot_inline constexpr __ingot_vec(vec<T, 2> p, T z0) : x(p.x), y(p.y), z(z0) {}
    __INGOT_SWIZZLES_3
};

template <class T> struct __ingot_vec<__ingot_native<T, 4>> {
    union {
        __ingot_native<typename __ingot_storage<T>::type, 4> v;
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
    };
    __INGOT_VEC_BODY(4)
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, 4> o)
        : x(__ingot_to<T>(o.x)), y(__ingot_to<T>(o.y)), z(__ingot_to<T>(o.z)),
          w(__ingot_to<T>(o.w)) {}
    __ingot_inline constexpr __ingot_vec(T s) : x(s), y(s), z(s), w(s) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0, T z0) __ingot_warn_if(true, __INGOT_TOO_FEW)
        : x(x0), y(y0), z(z0), w(0) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0) __ingot_warn_if(true, __INGOT_TOO_FEW)
        : x(x0), y(y0), z(0), w(0) {}
    __ingot_inline constexpr __ingot_vec(T x0, T y0, vec<T, 2> p) : x(x0), y(y0), z(p.x), w(p.y) {}
    __ingot_inline constexpr __ingot_vec(T x0, vec<T, 2> p, T w0) : x(x0), y(p.x), z(p.y), w(w0) {}
    __ingot_inline constexpr __ingot_vec(T x0, vec<T, 3> p) : x(x0), y(p.x), z(p.y), w(p.z) {}
    __ingot_inline constexpr __ingot_vec(vec<T, 2> p, T z0, T w0) : x(p.x), y(p.y), z(z0), w(w0) {}
    __ingot_inline constexpr __ingot_vec(vec<T, 2> p, vec<T, 2> q)
        : x(p.x), y(p.y), z(q.x), w(q.y) {}
    __ingot_inline constexpr __ingot_vec(vec<T, 3> p, T w0) : x(p.x), y(p.y), z(p.z), w(w0) {}
    __INGOT_SWIZZLES_4
};

/* Only by ext_vector_type(8) or (16); components by number, no swizzles. */
#define __INGOT_LONG_VEC(N, ...)                                                                   \
    template <class T> struct __ingot_vec<__ingot_native<T, N>> {                                  \
        union {                                                                                    \
            __ingot_native<typename __ingot_storage<T>::type, N> v;                                \
            T __ingot_components[N];                                                               \
            struct {                                                                               \
                T x, y, z, w;                                                                      \
            };                                                                                     \
            struct {                                                                               \
                T __VA_ARGS__;                                                                     \
            };                                                                                     \
        };                                                                                         \
        __INGOT_VEC_BODY(N)                                                                        \
        template <class U>                                                                         \
        __ingot_inline explicit constexpr __ingot_vec(vec<U, N> o) : __ingot_vec(T(0)) {           \
            for (int i = 0; i < N; i++) {                                                          \
                __ingot_components[i] = __ingot_to<T>(o.__ingot_components[i]);                    \
            }                                                                                      \
        }                                                                                          \
        __ingot_inline constexpr __ingot_vec(T s) : __ingot_components() {                         \
            for (int i = 0; i < N; i++) {                                                          \
                __ingot_components[i] = s;                                                         \
            }                                                                                      \
        }                                                                                          \
        template <class... U, class = enable_if_t<sizeof...(U) == N - 1>>                          \
        __ingot_inline constexpr __ingot_vec(T first, U... rest)                                   \
            : __ingot_components{first, (T)rest...} {}                                             \
    };
__INGOT_LONG_VEC(8, s0, s1, s2, s3, s4, s5, s6, s7)
__INGOT_LONG_VEC(16, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sa, sb, sc, sd, se, sf)

/* Of any other length: components by [i] alone. */
template <class T, int N> struct __ingot_items {
    T at[N];
};
template <class V, class F> constexpr auto __ingot_each(V a, V b, F f) {
    __ingot_items<decltype(f(a[0], b[0])), (int)(sizeof a.__ingot_components / sizeof(a[0]))> r{};
    for (size_t i = 0; i < sizeof a.__ingot_components / sizeof(a[0]); i++) {
        r.at[i] = f(a.__ingot_components[i], b.__ingot_components[i]);
    }
    return r;
}
#define __INGOT_BINARY_N(op) __ingot_each(a, b, [](T p, T q) { return p op q; })
#define __INGOT_UNARY_N(op)  __ingot_each(a, a, [](T p, T) { return op p; })
template <class T, int N> struct __ingot_vec<__ingot_native<T, N>> {
    union {
        __ingot_native<typename __ingot_storage<T>::type, N> v;
        T __ingot_components[N];
        T x;
    };
    __INGOT_VEC_BODY(N)
    template <class U>
    __ingot_inline explicit constexpr __ingot_vec(vec<U, N> o) : __ingot_vec(T(0)) {
        for (int i = 0; i < N; i++) {
            __ingot_components[i] = __ingot_to<T>(o.__ingot_components[i]);
        }
    }
    template <class U>
    __ingot_inline constexpr __ingot_vec(__ingot_items<U, N> o) : __ingot_vec(T(0)) {
        for (int i = 0; i < N; i++) {
            __ingot_components[i] = (T)o.at[i];
        }
    }
    __ingot_inline constexpr __ingot_vec(T s) : __ingot_components() {
        for (int i = 0; i < N; i++) {
            __ingot_components[i] = s;
        }
    }
    template <class... U, class = enable_if_t<sizeof...(U) == N - 1 && (N > 1)>>
    __ingot_inline constexpr __ingot_vec(T first, U... rest)
        : __ingot_components{first, (T)rest...} {}
};
#undef __INGOT_BINARY_N
#undef __INGOT_UNARY_N

/* A tile of 8 by 8, as the internals of simdgroup_matrix name it: two elements in each lane. */
template <class T> struct __ingot_vec<__ingot_native<T, 64>> {
    vec<T, 2> __elements;
};

#undef __INGOT_TOO_FEW
#undef __INGOT_LONG_VEC
#undef __INGOT_IF_CONSTANT
#undef __INGOT_BINARY_8
#undef __INGOT_BINARY_16
#undef __INGOT_UNARY_8
#undef __INGOT_UNARY_16
#undef __INGOT_BINARY_2
#undef __INGOT_BINARY_3
#undef __INGOT_BINARY_4
#undef __INGOT_UNARY_2
#undef __INGOT_UNARY_3
#undef __INGOT_UNARY_4
#undef __INGOT_VEC_UNARY
#undef __INGOT_VEC_ARITHMETIC
#undef __INGOT_VEC_SHIFT
#undef __INGOT_VEC_COMPARISON
#undef __INGOT_VEC_LOGIC
#undef __INGOT_VEC_STEP
#undef __INGOT_VEC_OF_NATIVE
#undef __INGOT_VEC_BODY
#undef __INGOT_SWIZZLE_GET
#undef __INGOT_SWIZZLE_PUT
#undef __INGOT_PUT_2
#undef __INGOT_PUT_3
#undef __INGOT_PUT_4

template <class T> struct is_vector : false_type {};
template <class T, int N> struct is_vector<vec<T, N>> : true_type {};
template <class T, int N> struct is_vector<packed_vec<T, N>> : true_type {};
template <class T, int N> struct is_vector<__ingot_packed_operand<T, N>> : true_type {};
template <class T> constexpr bool is_vector_v = is_vector<__ingot_bare_t<T>>::value;

template <class T> struct vec_elements : integral_constant<uint, 0> {};
template <class T, int N> struct vec_elements<vec<T, N>> : integral_constant<uint, N> {};
template <class T, int N> struct vec_elements<packed_vec<T, N>> : integral_constant<uint, N> {};
template <class T, int N>
struct vec_elements<__ingot_packed_operand<T, N>> : integral_constant<uint, N> {};
template <class T> constexpr uint vec_elements_v = vec_elements<__ingot_bare_t<T>>::value;

template <class T> struct make_scalar {
    using type = T;
};
template <class T, int N> struct make_scalar<vec<T, N>> {
    using type = T;
};
template <class T, int N> struct make_scalar<packed_vec<T, N>> {
    using type = T;
};
template <class T, int N> struct make_scalar<__ingot_packed_operand<T, N>> {
    using type = T;
};
template <class T> using make_scalar_t = typename make_scalar<T>::type;
template <class T, uint N> struct make_vector {
    using type = vec<T, N>;
};
template <class T> struct make_vector<T, 1> {
    using type = T;
};
template <class T, uint N> using make_vector_t = typename make_vector<T, N>::type;
} // namespace metal

#define __INGOT_VECTOR_NAMES(T)                                                                    \
    typedef metal::vec<T, 2> T##2;                                                                 \
    typedef metal::vec<T, 3> T##3;                                                                 \
    typedef metal::vec<T, 4> T##4;                                                                 \
    static_assert(sizeof(T##2) == 2 * sizeof(T) && sizeof(T##3) == 4 * sizeof(T) &&                \
                      sizeof(T##4) == 4 * sizeof(T) && alignof(T##4) == 4 * sizeof(T),             \
                  "Metal's vector layout");                                                        \
    namespace metal {                                                                              \
    using ::T##2;                                                                                  \
    using ::T##3;                                                                                  \
    using ::T##4;                                                                                  \
    }
__INGOT_SCALARS(__INGOT_VECTOR_NAMES)
#undef __INGOT_VECTOR_NAMES

/* What simd/simd.h fills; `using namespace simd;` is accepted without it. */
namespace simd {}

/* ---- as_type ------------------------------------------------------------------------------------
 */
namespace metal {
template <class T> struct __ingot_native_of {
    using type = T;
    static __ingot_inline constexpr T get(T x) {
        return x;
    }
    static __ingot_inline constexpr T make(T x) {
        return x;
    }
};
template <class T, int N> struct __ingot_native_of<vec<T, N>> {
    using type = typename vec<T, N>::E;
    static __ingot_inline constexpr type get(vec<T, N> x) {
        return x.v;
    }
    static __ingot_inline constexpr vec<T, N> make(type x) {
        return vec<T, N>(__ingot_raw(), x);
    }
};
} // namespace metal
template <class To, class From>
__ingot_inline constexpr To as_type(From x)
    __ingot_warn_if((__is_pointer(To) || __is_pointer(From)),
                    "Apple's compiler has as_type of scalars and vectors only: reinterpret_cast") {
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
    using T = metal::__ingot_native_of<metal::remove_cv_t<To>>;
    using F = metal::__ingot_native_of<From>;
    return T::make(__builtin_bit_cast(typename T::type, F::get(x)));
}
namespace metal {
using ::as_type;
}

/* ---- what rewritten code calls ----------------------------------------------------------------
 */
/* static_cast; clang refuses the conversion between half and bfloat. */
template <class T, class F> __ingot_inline constexpr T __ingot_cast(F &&x) {
    constexpr int to = metal::__ingot_short_float<metal::remove_cvref_t<T>>;
    constexpr int from = metal::__ingot_short_float<metal::remove_cvref_t<F>>;
    if constexpr (to + from == 3 && to != 0 && from != 0) {
        return (T)(float)x;
    } else {
        return static_cast<T>(static_cast<F &&>(x));
    }
}

/* The same of T(x) and (T)x, which may also turn a pointer into another one or into a number. */
template <class T, class F> __ingot_inline constexpr T __ingot_c_cast(F &&x) {
    if constexpr (__is_pointer(T) || __is_pointer(metal::remove_cvref_t<F>)) {
        return (T)x;
    } else {
        return __ingot_cast<T>(static_cast<F &&>(x));
    }
}

/* An operand of `?:`: an object of class type in an address space becomes a value, because clang
 * finds no common type for it and a temporary. A packed vector becomes one that a vector does not
 * convert to, so that the two have one common type. Everything else passes through. */
template <class T>
constexpr bool __ingot_is_distant_class =
    __is_class(T) && !__is_same(metal::remove_cv_t<T>, metal::__ingot_bare_t<T>);
template <class T> struct __ingot_operand {
    using type = T;
    static constexpr bool packed = false;
};
template <class T, int N> struct __ingot_operand<metal::packed_vec<T, N>> {
    using type = metal::__ingot_packed_operand<T, N>;
    static constexpr bool packed = true;
};
template <class T> using __ingot_operand_of = __ingot_operand<metal::__ingot_bare_t<T>>;
template <class T>
constexpr bool __ingot_is_kept = !__ingot_is_distant_class<T> && !__ingot_operand_of<T>::packed;
template <class T>
__ingot_inline constexpr metal::enable_if_t<__ingot_is_kept<metal::remove_reference_t<T>>, T &&>
__ingot_rvalue(T &&x) {
    return static_cast<T &&>(x);
}
template <class T>
__ingot_inline constexpr metal::enable_if_t<!__ingot_is_kept<T>,
                                            typename __ingot_operand_of<T>::type>
__ingot_rvalue(T &x) {
    return typename __ingot_operand_of<T>::type(metal::__ingot_bare_t<T>(x));
}
template <class T, int N>
__ingot_inline constexpr metal::__ingot_packed_operand<T, N>
__ingot_rvalue(metal::packed_vec<T, N> &&x) {
    return metal::__ingot_packed_operand<T, N>(x);
}

/* A pointer whose address space is known again: it converts to pointers and references of the
 * space that the function returns which uses it. */
template <class T> struct __ingot_respaced {
    T *pointer;
    __ingot_inline constexpr __ingot_respaced(T *p) : pointer(p) {}
    template <class P> __ingot_inline operator P *() const {
        return (P *)pointer;
    }
    template <class P> __ingot_inline operator P &() const {
        return *(P *)pointer;
    }
};

/* A shift whose amount may be the width or more, of constants that clang would fold to something
 * else. `a << n` becomes `a << __ingot_left << n`, `a >> n` becomes `a << __ingot_right << n`, and
 * `a <<= n` becomes `a <<= __ingot_amount = n`: what binds how stays as it was. */
template <class T, class N> __ingot_inline constexpr auto __ingot_shift_left(T a, N n) {
    if constexpr (__is_class(T) || __is_class(N)) {
        return a << n;
    } else {
        return a << (int)(n & (N)(sizeof(a << 0) * 8 - 1));
    }
}
template <class T, class N> __ingot_inline constexpr auto __ingot_shift_right(T a, N n) {
    if constexpr (__is_class(T) || __is_class(N)) {
        return a >> n;
    } else {
        return a >> (int)(n & (N)(sizeof(a >> 0) * 8 - 1));
    }
}
template <class T> struct __ingot_shifted_left {
    T value;
    template <class N>
    friend __ingot_inline constexpr auto operator<<(__ingot_shifted_left a, N n) {
        return __ingot_shift_left(a.value, n);
    }
};
template <class T> struct __ingot_shifted_right {
    T value;
    template <class N>
    friend __ingot_inline constexpr auto operator<<(__ingot_shifted_right a, N n) {
        return __ingot_shift_right(a.value, n);
    }
};
struct __ingot_left_mark {
    template <class T> friend __ingot_inline constexpr auto operator<<(T a, __ingot_left_mark) {
        return __ingot_shifted_left<T>{a};
    }
};
struct __ingot_right_mark {
    template <class T> friend __ingot_inline constexpr auto operator<<(T a, __ingot_right_mark) {
        return __ingot_shifted_right<T>{a};
    }
};
template <class N> struct __ingot_shift_amount {
    N n;
    template <class T>
    friend __ingot_inline constexpr T &operator<<=(T &a, __ingot_shift_amount by) {
        return a = __ingot_shift_left((metal::__ingot_bare_t<T>)a, by.n);
    }
    template <class T>
    friend __ingot_inline constexpr T &operator>>=(T &a, __ingot_shift_amount by) {
        return a = __ingot_shift_right((metal::__ingot_bare_t<T>)a, by.n);
    }
};
struct __ingot_amount_mark {
    template <class N> __ingot_inline constexpr auto operator=(N n) const {
        return __ingot_shift_amount<N>{n};
    }
};
inline constexpr __ingot_left_mark __ingot_left{};
inline constexpr __ingot_right_mark __ingot_right{};
inline constexpr __ingot_amount_mark __ingot_amount{};
