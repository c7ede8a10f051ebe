/*
 * Integer functions, for every integer type and vectors of them. All are constrained templates,
 * so that a kernel's own overloads win and floating point arguments go to the maths library.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
/* ---- scalars ----------------------------------------------------------------------------------
 */
/* Twice as wide, for products and saturation. */
template <class T> struct __ingot_wider {
    using type = conditional_t<__is_signed(T), int, uint>;
};
template <> struct __ingot_wider<int> {
    using type = long;
};
template <> struct __ingot_wider<uint> {
    using type = ulong;
};

template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> clz(T x) {
    constexpr int bits = sizeof(T) * 8;
    __ingot_bits_t<T> u = x;
    if constexpr (bits == 64) {
        return u == 0 ? T(64) : T(__builtin_clzl(u));
    } else {
        return u == 0 ? T(bits) : T(__builtin_clz((uint)u) - (32 - bits));
    }
}
template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> ctz(T x) {
    constexpr int bits = sizeof(T) * 8;
    __ingot_bits_t<T> u = x;
    if constexpr (bits == 64) {
        return u == 0 ? T(64) : T(__builtin_ctzl(u));
    } else {
        return u == 0 ? T(bits) : T(__builtin_ctz((uint)u));
    }
}
template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> popcount(T x) {
    __ingot_bits_t<T> u = x;
    if constexpr (sizeof(T) == 8) {
        return T(__builtin_popcountl(u));
    } else {
        return T(__builtin_popcount(u));
    }
}
template <class T> __ingot_inline constexpr __ingot_if_integer<T, T> reverse_bits(T x) {
    if constexpr (sizeof(T) == 1) {
        return T(__builtin_bitreverse8((uchar)x));
    } else if constexpr (sizeof(T) == 2) {
        return T(__builtin_bitreverse16((ushort)x));
    } else if constexpr (sizeof(T) == 4) {
        return T(__builtin_bitreverse32((uint)x));
    } else {
        return T(__builtin_bitreverse64((ulong)x));
    }
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> rotate(T x, type_identity_t<T> n) {
    using U = __ingot_bits_t<T>;
    constexpr uint mask = sizeof(T) * 8 - 1;
    uint left = (uint)n & mask;
    return T(U(U(x) << left) | U(U(x) >> ((0u - left) & mask)));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> mulhi(T a, type_identity_t<T> b) {
    if constexpr (sizeof(T) < 8) {
        using W = typename __ingot_wider<T>::type;
        return T((W(a) * W(b)) >> (sizeof(T) * 8));
    } else {
        ulong ua = a, ub = b;
        ulong al = ua & 0xffffffffu, ah = ua >> 32, bl = ub & 0xffffffffu, bh = ub >> 32;
        ulong low = al * bl, m0 = ah * bl + (low >> 32), m1 = al * bh + (m0 & 0xffffffffu);
        ulong high = ah * bh + (m0 >> 32) + (m1 >> 32);
        if constexpr (__is_signed(T)) {
            high -= (a < 0 ? ub : 0) + (b < 0 ? ua : 0);
        }
        return T(high);
    }
}
template <class T>
constexpr T __ingot_largest =
    __is_signed(T) ? T(__ingot_bits_t<T>(~__ingot_bits_t<T>(0)) >> 1) : T(~T(0));
template <class T>
constexpr T __ingot_smallest = __is_signed(T) ? T(-__ingot_largest<T> - 1) : T(0);

template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> addsat(T a, type_identity_t<T> b) {
    using U = __ingot_bits_t<T>;
    T r = T(U(U(a) + U(b)));
    if constexpr (__is_signed(T)) {
        bool over = ((a ^ r) & (b ^ r)) < 0;
        return over ? (a < 0 ? __ingot_smallest<T> : __ingot_largest<T>) : r;
    } else {
        return r < a ? __ingot_largest<T> : r;
    }
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> subsat(T a, type_identity_t<T> b) {
    using U = __ingot_bits_t<T>;
    T r = T(U(U(a) - U(b)));
    if constexpr (__is_signed(T)) {
        bool over = ((a ^ b) & (a ^ r)) < 0;
        return over ? (a < 0 ? __ingot_smallest<T> : __ingot_largest<T>) : r;
    } else {
        return a < b ? T(0) : r;
    }
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> hadd(T a, type_identity_t<T> b) {
    return T((a & b) + ((a ^ b) >> 1));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> rhadd(T a, type_identity_t<T> b) {
    return T((a | b) - ((a ^ b) >> 1));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> madhi(T a, type_identity_t<T> b,
                                                        type_identity_t<T> c) {
    using U = __ingot_bits_t<T>;
    return T(U(U(mulhi(a, b)) + U(c)));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> madsat(T a, type_identity_t<T> b,
                                                         type_identity_t<T> c) {
    if constexpr (sizeof(T) < 4) {
        int r = int(a) * int(b) + int(c);
        if constexpr (!__is_signed(T)) {
            uint u = uint(a) * uint(b) + uint(c);
            return u > uint(__ingot_largest<T>) ? __ingot_largest<T> : T(u);
        }
        return r > int(__ingot_largest<T>)    ? __ingot_largest<T>
               : r < int(__ingot_smallest<T>) ? __ingot_smallest<T>
                                              : T(r);
    } else if constexpr (sizeof(T) == 4) {
        using W = typename __ingot_wider<T>::type;
        W p = W(a) * W(b);
        p = addsat(p, W(c));
        return p > W(__ingot_largest<T>)    ? __ingot_largest<T>
               : p < W(__ingot_smallest<T>) ? __ingot_smallest<T>
                                            : T(p);
    } else if constexpr (__is_signed(T)) {
        long high = mulhi(a, b), low = long(ulong(a) * ulong(b));
        ulong sum = ulong(low) + ulong(c);
        high += (c < 0 ? -1 : 0) + (sum < ulong(low) ? 1 : 0);
        bool fits = high == (long(sum) < 0 ? -1 : 0);
        return fits ? T(sum) : high < 0 ? __ingot_smallest<T> : __ingot_largest<T>;
    } else {
        ulong high = mulhi(a, b), low = a * b, sum = low + c;
        return high != 0 || sum < low ? ~0UL : sum;
    }
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> extract_bits(T x, uint offset, uint bits) {
    constexpr uint width = sizeof(T) * 8;
    using U = __ingot_bits_t<T>;
    U shifted = U(U(x) << ((width - bits - offset) & (width - 1)));
    return bits == 0 ? T(0) : T(T(shifted) >> ((width - bits) & (width - 1)));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> insert_bits(T base, type_identity_t<T> insert,
                                                              uint offset, uint bits) {
    constexpr uint width = sizeof(T) * 8;
    using U = __ingot_bits_t<T>;
    U ones = bits == 0 ? U(0) : U(U(~U(0)) >> ((width - bits) & (width - 1)));
    U mask = U(ones << (offset & (width - 1)));
    return T(U((U(base) & U(~mask)) | (U(U(insert) << (offset & (width - 1))) & mask)));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, make_unsigned_t<T>> absdiff(T a,
                                                                           type_identity_t<T> b) {
    using U = make_unsigned_t<T>;
    return a > b ? U(U(a) - U(b)) : U(U(b) - U(a));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> mul24(T a, type_identity_t<T> b) {
    using U = __ingot_bits_t<T>;
    constexpr uint above = sizeof(T) * 8 - 24;
    return T(U(T(U(a) << above) >> above) * U(T(U(b) << above) >> above));
}
template <class T>
__ingot_inline constexpr __ingot_if_integer<T, T> mad24(T a, type_identity_t<T> b,
                                                        type_identity_t<T> c) {
    return T(__ingot_bits_t<T>(mul24(a, b)) + __ingot_bits_t<T>(c));
}

/* ---- shared names: abs, min, max, clamp, … of integers -----------------------------------------
 */
/* An unscoped enumeration counts as an integer beside one. */
template <class T>
constexpr bool __ingot_counts = __is_integral(T) || (__is_enum(T) && __is_convertible(T, int));

/* Ordinary functions, so that they win over a kernel's own templates of the same name. */
#define __INGOT_COMMON(T)                                                                          \
    __ingot_inline constexpr T abs(T x) {                                                          \
        return x < 0 ? T(__ingot_bits_t<T>(0) - __ingot_bits_t<T>(x)) : x;                         \
    }                                                                                              \
    __ingot_inline constexpr T max(T a, T b) {                                                     \
        return a < b ? b : a;                                                                      \
    }                                                                                              \
    __ingot_inline constexpr T min(T a, T b) {                                                     \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    __ingot_inline constexpr T clamp(T x, T low, T high) {                                         \
        return min(max(x, low), high);                                                             \
    }                                                                                              \
    __ingot_inline constexpr T max3(T a, T b, T c) {                                               \
        return max(a, max(b, c));                                                                  \
    }                                                                                              \
    __ingot_inline constexpr T min3(T a, T b, T c) {                                               \
        return min(a, min(b, c));                                                                  \
    }                                                                                              \
    __ingot_inline constexpr T median3(T a, T b, T c) {                                            \
        return max(min(a, b), min(max(a, b), c));                                                  \
    }
__INGOT_INTEGERS(__INGOT_COMMON)
__INGOT_COMMON(int8_t)
#undef __INGOT_COMMON

/* Arguments of different integer types meet in the type of their sum. */
template <class A, class B>
using __ingot_mixed =
    enable_if_t<__ingot_counts<A> && __ingot_counts<B> && (!__is_same(A, B) || !__is_integral(A)),
                decltype(A() + B())>;
template <class A, class B, class C>
using __ingot_mixed3 = enable_if_t<__ingot_counts<A> && __ingot_counts<B> && __ingot_counts<C> &&
                                       !(__is_same(A, B) && __is_same(B, C) && __is_integral(A)),
                                   decltype(A() + B() + C())>;
/* Apple's library has a function for each type, and no best one for arguments of several. bool and
 * enumerations have none of their own: they become int. */
template <class T>
constexpr bool __ingot_is_plain_char = __is_same(T, char) || __is_same(T, signed char);
template <class A, class B>
constexpr bool __ingot_one_overload =
    __is_same(A, B) || (__ingot_is_plain_char<A> && __ingot_is_plain_char<B>);
template <class T>
using __ingot_overload_of = conditional_t<__is_same(T, bool) || __is_enum(T), int, T>;
template <class A, class... B>
constexpr bool __ingot_several_overloads =
    !(__ingot_one_overload<__ingot_overload_of<A>, __ingot_overload_of<B>> && ...);
template <class A, class B>
__ingot_inline constexpr __ingot_mixed<A, B> max(A a, B b)
    __ingot_warn_if((__ingot_several_overloads<A, B>), __INGOT_AMBIGUOUS) {
    using T = decltype(A() + B());
    return max((T)a, (T)b);
}
template <class A, class B>
__ingot_inline constexpr __ingot_mixed<A, B> min(A a, B b)
    __ingot_warn_if((__ingot_several_overloads<A, B>), __INGOT_AMBIGUOUS) {
    using T = decltype(A() + B());
    return min((T)a, (T)b);
}
template <class A, class B, class C>
__ingot_inline constexpr __ingot_mixed3<A, B, C> clamp(A x, B low, C high)
    __ingot_warn_if((__ingot_several_overloads<A, B, C>), __INGOT_AMBIGUOUS) {
    using T = decltype(A() + B() + C());
    return clamp((T)x, (T)low, (T)high);
}
template <class A, class B, class C>
__ingot_inline constexpr __ingot_mixed3<A, B, C> max3(A a, B b, C c)
    __ingot_warn_if((__ingot_several_overloads<A, B, C>), __INGOT_AMBIGUOUS) {
    using T = decltype(A() + B() + C());
    return max3((T)a, (T)b, (T)c);
}
template <class A, class B, class C>
__ingot_inline constexpr __ingot_mixed3<A, B, C> min3(A a, B b, C c)
    __ingot_warn_if((__ingot_several_overloads<A, B, C>), __INGOT_AMBIGUOUS) {
    using T = decltype(A() + B() + C());
    return min3((T)a, (T)b, (T)c);
}

/* ---- vectors ------------------------------------------------------------------------------------
 */
#define __INGOT_VECTOR1(f)                                                                         \
    template <class T, int N>                                                                      \
    __ingot_inline constexpr __ingot_if_integer<T, vec<T, N>> f(vec<T, N> x) {                     \
        vec<T, N> r = x;                                                                           \
        for (int i = 0; i < N; i++) {                                                              \
            r[i] = f(T(x[i]));                                                                     \
        }                                                                                          \
        return r;                                                                                  \
    }
#define __INGOT_VECTOR2(f)                                                                         \
    template <class T, int N>                                                                      \
    __ingot_inline constexpr __ingot_if_integer<T, vec<T, N>> f(vec<T, N> x, vec<T, N> y) {        \
        vec<T, N> r = x;                                                                           \
        for (int i = 0; i < N; i++) {                                                              \
            r[i] = f(T(x[i]), T(y[i]));                                                            \
        }                                                                                          \
        return r;                                                                                  \
    }                                                                                              \
    template <class T, int N, class U>                                                             \
    __ingot_inline constexpr enable_if_t<__ingot_is_integer<T> && __ingot_is_number<U>, vec<T, N>> \
    f(vec<T, N> x, U y) {                                                                          \
        return f(x, vec<T, N>((T)y));                                                              \
    }                                                                                              \
    template <class U, class T, int N>                                                             \
    __ingot_inline constexpr enable_if_t<__ingot_is_integer<T> && __ingot_is_number<U>, vec<T, N>> \
    f(U x, vec<T, N> y) {                                                                          \
        return f(vec<T, N>((T)x), y);                                                              \
    }
#define __INGOT_VECTOR3(f)                                                                         \
    template <class T, int N>                                                                      \
    __ingot_inline constexpr __ingot_if_integer<T, vec<T, N>> f(vec<T, N> x, vec<T, N> y,          \
                                                                vec<T, N> z) {                     \
        vec<T, N> r = x;                                                                           \
        for (int i = 0; i < N; i++) {                                                              \
            r[i] = f(T(x[i]), T(y[i]), T(z[i]));                                                   \
        }                                                                                          \
        return r;                                                                                  \
    }                                                                                              \
    template <class T, int N, class U, class V>                                                    \
    __ingot_inline constexpr enable_if_t<                                                          \
        __ingot_is_integer<T> && (__ingot_is_number<U> || __ingot_is_number<V>), vec<T, N>>        \
    f(vec<T, N> x, U y, V z) {                                                                     \
        return f(x, vec<T, N>(y), vec<T, N>(z));                                                   \
    }
__INGOT_VECTOR1(clz)
__INGOT_VECTOR1(ctz)
__INGOT_VECTOR1(popcount)
__INGOT_VECTOR1(reverse_bits)
__INGOT_VECTOR1(abs)
__INGOT_VECTOR2(max)
__INGOT_VECTOR2(min)
__INGOT_VECTOR2(rotate)
__INGOT_VECTOR2(mulhi)
__INGOT_VECTOR2(addsat)
__INGOT_VECTOR2(subsat)
__INGOT_VECTOR2(hadd)
__INGOT_VECTOR2(rhadd)
__INGOT_VECTOR2(mul24)
__INGOT_VECTOR3(madhi)
__INGOT_VECTOR3(madsat)
__INGOT_VECTOR3(mad24)
__INGOT_VECTOR3(clamp)
__INGOT_VECTOR3(max3)
__INGOT_VECTOR3(min3)
__INGOT_VECTOR3(median3)
#undef __INGOT_VECTOR1
#undef __INGOT_VECTOR2
#undef __INGOT_VECTOR3
template <class T, int N>
__ingot_inline constexpr __ingot_if_integer<T, vec<make_unsigned_t<T>, N>> absdiff(vec<T, N> x,
                                                                                   vec<T, N> y) {
    vec<make_unsigned_t<T>, N> r{};
    for (int i = 0; i < N; i++) {
        r[i] = absdiff(T(x[i]), T(y[i]));
    }
    return r;
}
template <class T, int N>
__ingot_inline constexpr __ingot_if_integer<T, vec<T, N>> extract_bits(vec<T, N> x, uint offset,
                                                                       uint bits) {
    vec<T, N> r = x;
    for (int i = 0; i < N; i++) {
        r[i] = extract_bits(T(x[i]), offset, bits);
    }
    return r;
}
template <class T, int N>
__ingot_inline constexpr __ingot_if_integer<T, vec<T, N>>
insert_bits(vec<T, N> base, vec<T, N> insert, uint offset, uint bits) {
    vec<T, N> r = base;
    for (int i = 0; i < N; i++) {
        r[i] = insert_bits(T(base[i]), T(insert[i]), offset, bits);
    }
    return r;
}
} // namespace metal
