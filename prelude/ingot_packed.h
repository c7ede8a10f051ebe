/*
 * packed_vec<T, N>: N components without padding, aligned as one. It converts to and from vec;
 * arithmetic gives vec.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
template <class T> __ingot_inline constexpr T __ingot_plain(T x) {
    return x;
}
template <class T, int N> __ingot_inline constexpr vec<T, N> __ingot_plain(packed_vec<T, N> x) {
    return x.__ingot_unpack();
}
template <class T, int N>
__ingot_inline constexpr vec<T, N> __ingot_plain(__ingot_packed_operand<T, N> x) {
    return x.__ingot_unpack();
}

#define __INGOT_SWIZZLE_GET(n, word, ...)                                                          \
    __ingot_inline vec<T, n> __ingot_get_##word() const {                                          \
        return __ingot_unpack().word;                                                              \
    }
#define __INGOT_SWIZZLE_PUT(n, word, ...)                                                          \
    __ingot_inline void __ingot_put_##word(vec<T, n> o) {                                          \
        auto whole = __ingot_unpack();                                                             \
        whole.word = o;                                                                            \
        *this = packed_vec(whole);                                                                 \
    }
/* packed with packed, or with a scalar; packed with vec finds vec's own operators. Friends, so
 * that lookup finds them by argument only: see ingot_types.h. */
#define __INGOT_PACKED_OPERATOR(op)                                                                \
    template <class A, class B,                                                                    \
              enable_if_t<(__is_base_of(packed_vec, A) &&                                          \
                           (__is_base_of(packed_vec, B) || __ingot_is_number<B>)) ||               \
                              (__ingot_is_number<A> && __is_base_of(packed_vec, B)),               \
                          int> = 0>                                                                \
    friend __ingot_inline constexpr auto operator op(A a, B b) {                                   \
        return __ingot_plain(a) op __ingot_plain(b);                                               \
    }
#define __INGOT_PACKED_COMPOUND(op)                                                                \
    template <class U> __ingot_inline packed_vec &operator op##=(U o) {                            \
        *this = packed_vec(__ingot_unpack() op o);                                                 \
        return *this;                                                                              \
    }
#define __INGOT_PACKED_BODY(N)                                                                     \
    using value_type = T;                                                                          \
    packed_vec() = default;                                                                        \
    template <class U>                                                                             \
    __ingot_inline explicit constexpr packed_vec(packed_vec<U, N> o)                               \
        : packed_vec(vec<T, N>(o.__ingot_unpack())) {}                                             \
    template <class U>                                                                             \
    __ingot_inline explicit constexpr packed_vec(vec<U, N> o) : packed_vec(vec<T, N>(o)) {}        \
    __ingot_inline constexpr operator vec<T, N>() const {                                          \
        return __ingot_unpack();                                                                   \
    }                                                                                              \
    __ingot_inline T &operator[](size_t i) {                                                       \
        return (*(T(*)[N]) & x)[i];                                                                \
    }                                                                                              \
    __ingot_inline const T &operator[](size_t i) const {                                           \
        return (*(const T(*)[N]) & x)[i];                                                          \
    }                                                                                              \
    __INGOT_PACKED_COMPOUND(+)                                                                     \
    __INGOT_PACKED_COMPOUND(-)                                                                     \
    __INGOT_PACKED_COMPOUND(*)                                                                     \
    __INGOT_PACKED_COMPOUND(/)                                                                     \
    __INGOT_PACKED_COMPOUND(%)                                                                     \
    __INGOT_PACKED_COMPOUND(&)                                                                     \
    __INGOT_PACKED_COMPOUND(|)                                                                     \
    __INGOT_PACKED_COMPOUND(^)                                                                     \
    __INGOT_PACKED_COMPOUND(<<)                                                                    \
    __INGOT_PACKED_COMPOUND(>>)                                                                    \
    __INGOT_PACKED_OPERATOR(+)                                                                     \
    __INGOT_PACKED_OPERATOR(-)                                                                     \
    __INGOT_PACKED_OPERATOR(*)                                                                     \
    __INGOT_PACKED_OPERATOR(/)                                                                     \
    __INGOT_PACKED_OPERATOR(%)                                                                     \
    __INGOT_PACKED_OPERATOR(&)                                                                     \
    __INGOT_PACKED_OPERATOR(|)                                                                     \
    __INGOT_PACKED_OPERATOR(^)                                                                     \
    __INGOT_PACKED_OPERATOR(<<)                                                                    \
    __INGOT_PACKED_OPERATOR(>>)                                                                    \
    __INGOT_PACKED_OPERATOR(==)                                                                    \
    __INGOT_PACKED_OPERATOR(!=)                                                                    \
    __INGOT_PACKED_OPERATOR(<)                                                                     \
    __INGOT_PACKED_OPERATOR(>)                                                                     \
    __INGOT_PACKED_OPERATOR(<=)                                                                    \
    __INGOT_PACKED_OPERATOR(>=)                                                                    \
    friend __ingot_inline constexpr vec<T, N> operator-(packed_vec a) {                            \
        return -a.__ingot_unpack();                                                                \
    }                                                                                              \
    __INGOT_SWIZZLES_##N

#define __INGOT_RGBA(T, letter, name)                                                              \
    __ingot_inline T __ingot_get_##name() const {                                                  \
        return letter;                                                                             \
    }                                                                                              \
    __ingot_inline void __ingot_put_##name(T s) {                                                  \
        letter = s;                                                                                \
    }                                                                                              \
    __declspec(property(get = __ingot_get_##name, put = __ingot_put_##name)) T name;

template <class T> struct packed_vec<T, 2> {
    T x, y;
    __ingot_inline constexpr vec<T, 2> __ingot_unpack() const {
        return vec<T, 2>(x, y);
    }
    __ingot_inline constexpr packed_vec(T s) : x(s), y(s) {}
    __ingot_inline constexpr packed_vec(T a, T b) : x(a), y(b) {}
    __ingot_inline constexpr packed_vec(vec<T, 2> o) : x(o.x), y(o.y) {}
    __INGOT_RGBA(T, x, r)
    __INGOT_RGBA(T, y, g)
    __INGOT_PACKED_BODY(2)
};
template <class T> struct packed_vec<T, 3> {
    T x, y, z;
    __ingot_inline constexpr vec<T, 3> __ingot_unpack() const {
        return vec<T, 3>(x, y, z);
    }
    __ingot_inline constexpr packed_vec(T s) : x(s), y(s), z(s) {}
    __ingot_inline constexpr packed_vec(T a, T b, T c) : x(a), y(b), z(c) {}
    __ingot_inline constexpr packed_vec(vec<T, 2> a, T b) : packed_vec(vec<T, 3>(a, b)) {}
    __ingot_inline constexpr packed_vec(T a, vec<T, 2> b) : packed_vec(vec<T, 3>(a, b)) {}
    __ingot_inline constexpr packed_vec(vec<T, 3> o) : x(o.x), y(o.y), z(o.z) {}
    __INGOT_RGBA(T, x, r)
    __INGOT_RGBA(T, y, g)
    __INGOT_RGBA(T, z, b)
    __INGOT_PACKED_BODY(3)
};
template <class T> struct packed_vec<T, 4> {
    T x, y, z, w;
    __ingot_inline constexpr vec<T, 4> __ingot_unpack() const {
        return vec<T, 4>(x, y, z, w);
    }
    __ingot_inline constexpr packed_vec(T s) : x(s), y(s), z(s), w(s) {}
    __ingot_inline constexpr packed_vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    __ingot_inline constexpr packed_vec(vec<T, 2> a, vec<T, 2> b) : packed_vec(vec<T, 4>(a, b)) {}
    __ingot_inline constexpr packed_vec(vec<T, 3> a, T b) : packed_vec(vec<T, 4>(a, b)) {}
    __ingot_inline constexpr packed_vec(vec<T, 4> o) : x(o.x), y(o.y), z(o.z), w(o.w) {}
    __INGOT_RGBA(T, x, r)
    __INGOT_RGBA(T, y, g)
    __INGOT_RGBA(T, z, b)
    __INGOT_RGBA(T, w, a)
    __INGOT_PACKED_BODY(4)
};
#undef __INGOT_SWIZZLE_GET
#undef __INGOT_SWIZZLE_PUT
#undef __INGOT_PACKED_OPERATOR
#undef __INGOT_PACKED_COMPOUND
#undef __INGOT_PACKED_BODY
#undef __INGOT_RGBA

/* What __ingot_rvalue makes of a packed vector. */
template <class T, int N> struct __ingot_packed_operand : packed_vec<T, N> {
    using packed_vec<T, N>::operator=;
    __ingot_inline explicit constexpr __ingot_packed_operand(packed_vec<T, N> o)
        : packed_vec<T, N>(o) {}
    __ingot_inline constexpr __ingot_packed_operand(T s) : packed_vec<T, N>(s) {}
};
} // namespace metal

#define __INGOT_PACKED_NAMES(T)                                                                    \
    typedef metal::packed_vec<T, 2> packed_##T##2;                                                 \
    typedef metal::packed_vec<T, 3> packed_##T##3;                                                 \
    typedef metal::packed_vec<T, 4> packed_##T##4;                                                 \
    namespace metal {                                                                              \
    using ::packed_##T##2;                                                                         \
    using ::packed_##T##3;                                                                         \
    using ::packed_##T##4;                                                                         \
    }
__INGOT_SCALARS(__INGOT_PACKED_NAMES)
#undef __INGOT_PACKED_NAMES
