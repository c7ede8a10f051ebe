/*
 * vec<T, N>: a native vector in a union with its components, so that both whole-vector
 * arithmetic and references to components work. Swizzles are properties (get and put), made by
 * the macros of ingot_swizzles.h. A put stores only the components it names, since other threads
 * may own the others. bool vectors hold one byte per component.
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
template <class T, int N> struct vec;
template <class T, int N> struct packed_vec;

template <class T> struct __ingot_storage {
    using type = T;
};
template <> struct __ingot_storage<bool> {
    using type = uchar;
};

/* Native vectors and conversion between them: through float where bfloat takes part (clang has
 * no direct conversion between half and bfloat), to 0 or 1 where bool does. */
template <class S, int N> using __ingot_native = S __attribute__((ext_vector_type(N)));
template <class T, int N, class V> __ingot_inline constexpr auto __ingot_convert(V v) {
    using S = typename __ingot_storage<T>::type;
    using E = __ingot_native<S, N>;
    if constexpr (__is_same(T, bool)) {
        return (E)(__builtin_convertvector(v != V(0), E) & E(1));
    } else if constexpr (__is_same(V, E)) {
        return v;
    } else if constexpr (__is_same(T, bfloat) || __is_same(V, __ingot_native<bfloat, N>)) {
        return __builtin_convertvector(__builtin_convertvector(v, __ingot_native<float, N>), E);
    } else {
        return __builtin_convertvector(v, E);
    }
}

struct __ingot_raw {};

#define __INGOT_VEC_ARITHMETIC(op)                                                                 \
    friend __ingot_inline constexpr vec operator op(vec a, vec b) {                                \
        return vec(__ingot_raw(), (E)(a.v op b.v));                                                \
    }                                                                                              \
    __ingot_inline vec &operator op##=(vec b) {                                                    \
        v = (E)(v op b.v);                                                                         \
        return *this;                                                                              \
    }
#define __INGOT_VEC_COMPARISON(N, op)                                                              \
    friend __ingot_inline constexpr vec<bool, N> operator op(vec a, vec b) {                       \
        auto m = a.v op b.v;                                                                       \
        using B = __ingot_native<uchar, N>;                                                        \
        return vec<bool, N>(__ingot_raw(), (B)(__builtin_convertvector(m, B) & B(1)));             \
    }
#define __INGOT_VEC_LOGIC(N, op, bits)                                                             \
    friend __ingot_inline constexpr vec<bool, N> operator op(vec a, vec b) {                       \
        return vec<bool, N>(a) bits vec<bool, N>(b);                                               \
    }
#define __INGOT_VEC_STEP(op)                                                                       \
    __ingot_inline vec &operator op##op() {                                                        \
        v = v op(S) 1;                                                                             \
        return *this;                                                                              \
    }                                                                                              \
    __ingot_inline vec operator op##op(int) {                                                      \
        vec old = *this;                                                                           \
        v = v op(S) 1;                                                                             \
        return old;                                                                                \
    }

/* What vectors of every length share. */
#define __INGOT_VEC_BODY(N)                                                                        \
    using value_type = T;                                                                          \
    using S = typename __ingot_storage<T>::type;                                                   \
    typedef S E __attribute__((ext_vector_type(N)));                                               \
    vec() = default;                                                                               \
    __ingot_inline constexpr vec(__ingot_raw, E e) : v(e) {}                                       \
    template <class U>                                                                             \
    __ingot_inline explicit constexpr vec(vec<U, N> o) : v(__ingot_convert<T, N>(o.v)) {}          \
    template <class U>                                                                             \
    __ingot_inline explicit constexpr vec(packed_vec<U, N> o) : vec(o.__ingot_unpack()) {}         \
    __ingot_inline vec(const volatile vec &o) : v(o.v) {}                                          \
    vec(const vec &) = default;                                                                    \
    vec &operator=(const vec &) = default;                                                         \
    /* A value also where a template would see a property. */                                      \
    __ingot_inline constexpr vec __ingot_self() const {                                            \
        return *this;                                                                              \
    }                                                                                              \
    __ingot_inline T &operator[](size_t i) {                                                       \
        return (&x)[i];                                                                            \
    }                                                                                              \
    __ingot_inline const T &operator[](size_t i) const {                                           \
        return (&x)[i];                                                                            \
    }                                                                                              \
    __INGOT_VEC_ARITHMETIC(+)                                                                      \
    __INGOT_VEC_ARITHMETIC(-)                                                                      \
    __INGOT_VEC_ARITHMETIC(*)                                                                      \
    __INGOT_VEC_ARITHMETIC(/)                                                                      \
    __INGOT_VEC_ARITHMETIC(%)                                                                      \
    __INGOT_VEC_ARITHMETIC(&)                                                                      \
    __INGOT_VEC_ARITHMETIC(|)                                                                      \
    __INGOT_VEC_ARITHMETIC(^)                                                                      \
    __INGOT_VEC_ARITHMETIC(<<)                                                                     \
    __INGOT_VEC_ARITHMETIC(>>)                                                                     \
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
    friend __ingot_inline constexpr vec operator-(vec a) {                                         \
        return vec(__ingot_raw(), -a.v);                                                           \
    }                                                                                              \
    friend __ingot_inline constexpr vec operator+(vec a) {                                         \
        return a;                                                                                  \
    }                                                                                              \
    friend __ingot_inline constexpr vec operator~(vec a) {                                         \
        return vec(__ingot_raw(), ~a.v);                                                           \
    }                                                                                              \
    friend __ingot_inline constexpr vec<bool, N> operator!(vec a) {                                \
        return a == vec(T(0));                                                                     \
    }

/* The unevaluated assignment lets clang refuse a word with a repeated letter. */
#define __INGOT_SWIZZLE_GET(n, word)                                                               \
    __ingot_inline constexpr vec<T, n> __ingot_get_##word() const {                                \
        return vec<T, n>(__ingot_raw(), v.word);                                                   \
    }
#define __INGOT_SWIZZLE_PUT(n, word, ...)                                                          \
    __ingot_inline void __ingot_put_##word(vec<T, n> o) {                                          \
        using check = decltype(v.word = o.v);                                                      \
        constexpr uchar at[] = {__VA_ARGS__};                                                      \
        if constexpr (n * sizeof(S) == sizeof(v)) {                                                \
            v.word = o.v;                                                                          \
        } else {                                                                                   \
            (&x)[at[0]] = (T)o.v[0];                                                               \
            (&x)[at[1]] = (T)o.v[1];                                                               \
            if constexpr (n > 2) {                                                                 \
                (&x)[at[2]] = (T)o.v[2];                                                           \
            }                                                                                      \
        }                                                                                          \
    }

template <class T> struct vec<T, 2> {
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
    __ingot_inline constexpr vec(T s) : x(s), y(s) {}
    __ingot_inline constexpr vec(T x0, T y0) : x(x0), y(y0) {}
    __INGOT_SWIZZLES_2
};

template <class T> struct vec<T, 3> {
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
    __ingot_inline constexpr vec(T s) : x(s), y(s), z(s) {}
    __ingot_inline constexpr vec(T x0, T y0, T z0) : x(x0), y(y0), z(z0) {}
    __ingot_inline constexpr vec(T x0, T y0) : x(x0), y(y0), z(0) {}
    __ingot_inline constexpr vec(T x0, vec<T, 2> p) : x(x0), y(p.x), z(p.y) {}
    __ingot_inline constexpr vec(vec<T, 2> p, T z0) : x(p.x), y(p.y), z(z0) {}
    __INGOT_SWIZZLES_3
};

template <class T> struct vec<T, 4> {
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
    __ingot_inline constexpr vec(T s) : x(s), y(s), z(s), w(s) {}
    __ingot_inline constexpr vec(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
    __ingot_inline constexpr vec(T x0, T y0, T z0) : x(x0), y(y0), z(z0), w(0) {}
    __ingot_inline constexpr vec(T x0, T y0) : x(x0), y(y0), z(0), w(0) {}
    __ingot_inline constexpr vec(T x0, T y0, vec<T, 2> p) : x(x0), y(y0), z(p.x), w(p.y) {}
    __ingot_inline constexpr vec(T x0, vec<T, 2> p, T w0) : x(x0), y(p.x), z(p.y), w(w0) {}
    __ingot_inline constexpr vec(T x0, vec<T, 3> p) : x(x0), y(p.x), z(p.y), w(p.z) {}
    __ingot_inline constexpr vec(vec<T, 2> p, T z0, T w0) : x(p.x), y(p.y), z(z0), w(w0) {}
    __ingot_inline constexpr vec(vec<T, 2> p, vec<T, 2> q) : x(p.x), y(p.y), z(q.x), w(q.y) {}
    __ingot_inline constexpr vec(vec<T, 3> p, T w0) : x(p.x), y(p.y), z(p.z), w(w0) {}
    __INGOT_SWIZZLES_4
};

#undef __INGOT_VEC_ARITHMETIC
#undef __INGOT_VEC_COMPARISON
#undef __INGOT_VEC_LOGIC
#undef __INGOT_VEC_STEP
#undef __INGOT_VEC_BODY
#undef __INGOT_SWIZZLE_GET
#undef __INGOT_SWIZZLE_PUT

template <class T> struct is_vector : false_type {};
template <class T, int N> struct is_vector<vec<T, N>> : true_type {};
template <class T, int N> struct is_vector<packed_vec<T, N>> : true_type {};
template <class T> constexpr bool is_vector_v = is_vector<__ingot_bare_t<T>>::value;

template <class T> struct vec_elements : integral_constant<uint, 0> {};
template <class T, int N> struct vec_elements<vec<T, N>> : integral_constant<uint, N> {};
template <class T, int N> struct vec_elements<packed_vec<T, N>> : integral_constant<uint, N> {};
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
template <class To, class From> __ingot_inline constexpr To as_type(From x) {
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
template <class T> constexpr int __ingot_short_float = 0;
template <> inline constexpr int __ingot_short_float<half> = 1;
template <> inline constexpr int __ingot_short_float<bfloat> = 2;

/* static_cast; clang refuses the conversion between half and bfloat. */
template <class T, class F> __ingot_inline constexpr T __ingot_cast(F &&x) {
    constexpr int to = __ingot_short_float<metal::remove_cvref_t<T>>;
    constexpr int from = __ingot_short_float<metal::remove_cvref_t<F>>;
    if constexpr (to + from == 3 && to != 0 && from != 0) {
        return (T)(float)x;
    } else {
        return static_cast<T>(static_cast<F &&>(x));
    }
}

/* An operand of `?:`: an object of class type in an address space becomes a value, because clang
 * finds no common type for it and a temporary. Everything else passes through. */
template <class T>
constexpr bool __ingot_is_distant_class =
    __is_class(T) && !__is_same(metal::remove_cv_t<T>, metal::__ingot_bare_t<T>);
template <class T>
__ingot_inline constexpr metal::enable_if_t<!__ingot_is_distant_class<metal::remove_reference_t<T>>,
                                            T &&>
__ingot_rvalue(T &&x) {
    return static_cast<T &&>(x);
}
template <class T>
__ingot_inline constexpr metal::enable_if_t<__ingot_is_distant_class<T>, metal::__ingot_bare_t<T>>
__ingot_rvalue(T &x) {
    return metal::__ingot_bare_t<T>(x);
}
