/*
 * simd_* and quad_*: data movement, reductions, prefix operations and votes across the lanes of
 * a SIMD-group or a quad, on top of the few scalar built-ins of ingot_builtins.h. Only active
 * lanes take part. All are templates constrained to scalars and vectors, so that a kernel's own
 * overloads for its own types (and for 64-bit integers, bool, bfloat) win.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
template <class T> constexpr bool __ingot_crosses = __is_integral(T) || __is_floating_point(T);
template <class T, int N> constexpr bool __ingot_crosses<vec<T, N>> = true;
/* Apple's functions do not take these; programs there bring functions of their own for them. */
template <class T>
constexpr bool __ingot_is_unportable =
    sizeof(make_scalar_t<T>) == 8 || __is_same(make_scalar_t<T>, bool);
/* A name of Apple's own library, which programs ask whether to bring their own functions. */
template <class T>
struct __is_valid_simdgroup_type : bool_constant<__ingot_crosses<T> && !__ingot_is_unportable<T>> {
};
#define __INGOT_PORTABLE                                                                           \
    __ingot_warn_if((__ingot_is_unportable<T>),                                                    \
                    "Apple's compiler has no SIMD-group functions of bool and of 64 bits")
template <class T, class R = T> using __ingot_if_crosses = enable_if_t<__ingot_crosses<T>, R>;

__ingot_inline uint __ingot_lane() {
    return __ingot_thread_index_in_simdgroup();
}

/* ---- moving data --------------------------------------------------------------------------------
 */
/* x of another lane; every other movement is this with an index. */
template <class T> __ingot_inline __ingot_if_crosses<T> __ingot_fetch(T x, uint lane) {
    if constexpr (is_vector_v<T>) {
        T r = x;
        for (int i = 0; i < int(vec_elements_v<T>); i++) {
            r[i] = __ingot_fetch(make_scalar_t<T>(x[i]), lane);
        }
        return r;
    } else if constexpr (__is_same(T, float)) {
        return __ingot_simd_shuffle_f32(x, lane);
    } else if constexpr (sizeof(T) == 8) {
        return __builtin_bit_cast(T, __ingot_simd_shuffle_b64(__builtin_bit_cast(ulong, x), lane));
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(T, __ingot_simd_shuffle_b32(__builtin_bit_cast(uint, x), lane));
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(T, __ingot_simd_shuffle_b16(__builtin_bit_cast(ushort, x), lane));
    } else {
        return (T)__ingot_simd_shuffle_b16((uchar)x, lane);
    }
}

template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle(T x, ushort lane) __INGOT_PORTABLE {
    return __ingot_fetch(x, lane);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_broadcast(T x, ushort lane) __INGOT_PORTABLE {
    return __ingot_fetch(x, lane);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle_xor(T x, ushort mask) __INGOT_PORTABLE {
    return __ingot_fetch(x, __ingot_lane() ^ mask);
}
/* Lanes that would read past the end keep their own value. */
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle_up(T x, ushort delta) __INGOT_PORTABLE {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, lane < delta ? lane : lane - delta);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle_down(T x, ushort delta) __INGOT_PORTABLE {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, lane + delta > 31 ? lane : lane + delta);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle_rotate_up(T x, ushort delta) __INGOT_PORTABLE {
    return __ingot_fetch(x, (__ingot_lane() - delta) & 31);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle_rotate_down(T x, ushort delta) __INGOT_PORTABLE {
    return __ingot_fetch(x, (__ingot_lane() + delta) & 31);
}
/* Segments of `modulo` lanes; what would come from outside the own segment comes from the other
 * end of the segment of `fill`. modulo is a power of two. */
template <class T>
__ingot_inline __ingot_if_crosses<T> simd_shuffle_and_fill_up(T x, type_identity_t<T> fill,
                                                              ushort delta,
                                                              ushort modulo = 32) __INGOT_PORTABLE {
    uint lane = __ingot_lane(), inside = lane & (modulo - 1u);
    uint from = (lane - inside) + ((inside - delta) & (modulo - 1u));
    T moved = __ingot_fetch(x, from), filled = __ingot_fetch(T(fill), from);
    return inside < delta ? filled : moved;
}
template <class T>
__ingot_inline __ingot_if_crosses<T>
simd_shuffle_and_fill_down(T x, type_identity_t<T> fill, ushort delta,
                           ushort modulo = 32) __INGOT_PORTABLE {
    uint lane = __ingot_lane(), inside = lane & (modulo - 1u);
    uint from = (lane - inside) + ((inside + delta) & (modulo - 1u));
    T moved = __ingot_fetch(x, from), filled = __ingot_fetch(T(fill), from);
    return inside + delta >= modulo ? filled : moved;
}
template <class T> __ingot_inline __ingot_if_crosses<T> simd_broadcast_first(T x) __INGOT_PORTABLE {
    return __ingot_fetch(x, (uint)__builtin_ctz(__ingot_simd_ballot(true)));
}

/* ---- reductions and prefix operations
 * -------------------------------------------------------------- */
/* The built-in type that carries T: f32, i32, u32, i64 or u64. */
template <class T> struct __ingot_carrier {
    using type =
        conditional_t<__is_floating_point(T), float,
                      conditional_t<sizeof(T) == 8, conditional_t<__is_signed(T), long, ulong>,
                                    conditional_t<__is_signed(T), int, uint>>>;
};
template <class T> using __ingot_carrier_t = typename __ingot_carrier<T>::type;

#define __INGOT_OVERLOAD(name, op, T, suffix)                                                      \
    __ingot_inline T __ingot_##name(T x) {                                                         \
        return __ingot_simd_##op##_##suffix(x);                                                    \
    }
#define __INGOT_REDUCTION(op)                                                                      \
    __INGOT_OVERLOAD(do_##op, op, float, f32)                                                      \
    __INGOT_OVERLOAD(do_##op, op, int, i32)                                                        \
    __INGOT_OVERLOAD(do_##op, op, uint, u32)                                                       \
    __INGOT_OVERLOAD(do_##op, op, long, i64)                                                       \
    __INGOT_OVERLOAD(do_##op, op, ulong, u64)                                                      \
    __INGOT_LIFT(op, __ingot_crosses<T>)
#define __INGOT_BITWISE(op)                                                                        \
    __INGOT_OVERLOAD(do_##op, op, uint, u32)                                                       \
    __INGOT_OVERLOAD(do_##op, op, ulong, u64)                                                      \
    __INGOT_OVERLOAD(do_##op, op, int, u32)                                                        \
    __INGOT_OVERLOAD(do_##op, op, long, u64)                                                       \
    __INGOT_LIFT(op, __ingot_crosses<T> &&__ingot_is_integer<make_scalar_t<T>>)
#define __INGOT_PREFIX(op)                                                                         \
    __INGOT_OVERLOAD(do_##op, op, float, f32)                                                      \
    __INGOT_OVERLOAD(do_##op, op, uint, u32)                                                       \
    __INGOT_OVERLOAD(do_##op, op, ulong, u64)                                                      \
    __INGOT_OVERLOAD(do_##op, op, int, u32)                                                        \
    __INGOT_OVERLOAD(do_##op, op, long, u64)                                                       \
    __INGOT_LIFT(op, __ingot_crosses<T>)
/* From the carriers to all scalars and vectors. */
#define __INGOT_LIFT(op, condition)                                                                \
    template <class T>                                                                             \
    __ingot_inline enable_if_t<(condition), T> simd_##op(T x) __INGOT_PORTABLE {                   \
        if constexpr (is_vector_v<T>) {                                                            \
            T r = x;                                                                               \
            for (int i = 0; i < int(vec_elements_v<T>); i++) {                                     \
                r[i] = simd_##op(make_scalar_t<T>(x[i]));                                          \
            }                                                                                      \
            return r;                                                                              \
        } else {                                                                                   \
            return (T)__ingot_do_##op((__ingot_carrier_t<T>)x);                                    \
        }                                                                                          \
    }
__INGOT_REDUCTION(sum)
__INGOT_REDUCTION(product)
__INGOT_REDUCTION(min)
__INGOT_REDUCTION(max)
__INGOT_BITWISE(and)
__INGOT_BITWISE(or)
__INGOT_BITWISE(xor)
__INGOT_PREFIX(prefix_inclusive_sum)
__INGOT_PREFIX(prefix_exclusive_sum)
__INGOT_PREFIX(prefix_inclusive_product)
__INGOT_PREFIX(prefix_exclusive_product)
#undef __INGOT_OVERLOAD
#undef __INGOT_REDUCTION
#undef __INGOT_BITWISE
#undef __INGOT_PREFIX
#undef __INGOT_LIFT

/* ---- votes
 * --------------------------------------------------------------------------------------- */
struct simd_vote {
    using vote_t = ulong;
    vote_t __bits;
    simd_vote() = default;
    __ingot_inline explicit constexpr simd_vote(vote_t bits) : __bits(bits) {}
    __ingot_inline explicit constexpr operator vote_t() const {
        return __bits;
    }
    __ingot_inline constexpr bool all() const {
        return __bits == 0xffffffffu;
    }
    __ingot_inline constexpr bool any() const {
        return __bits != 0;
    }
    friend __ingot_inline constexpr simd_vote operator&(simd_vote a, simd_vote b) {
        return simd_vote(a.__bits & b.__bits);
    }
    friend __ingot_inline constexpr simd_vote operator|(simd_vote a, simd_vote b) {
        return simd_vote(a.__bits | b.__bits);
    }
    friend __ingot_inline constexpr simd_vote operator^(simd_vote a, simd_vote b) {
        return simd_vote(a.__bits ^ b.__bits);
    }
    friend __ingot_inline constexpr simd_vote operator~(simd_vote a) {
        return simd_vote(~a.__bits & 0xffffffffu);
    }
    friend __ingot_inline constexpr bool operator==(simd_vote a, simd_vote b) {
        return a.__bits == b.__bits;
    }
    friend __ingot_inline constexpr bool operator!=(simd_vote a, simd_vote b) {
        return a.__bits != b.__bits;
    }
};
__ingot_inline simd_vote simd_ballot(bool x) {
    return simd_vote(__ingot_simd_ballot(x));
}
__ingot_inline simd_vote simd_active_threads_mask() {
    return simd_vote(__ingot_simd_ballot(true));
}
__ingot_inline bool simd_all(bool x) {
    return __ingot_simd_ballot(!x) == 0;
}
__ingot_inline bool simd_any(bool x) {
    return __ingot_simd_ballot(x) != 0;
}
__ingot_inline bool simd_is_first() {
    return __ingot_lane() == (uint)__builtin_ctz(__ingot_simd_ballot(true));
}
__ingot_inline bool simd_is_helper_thread() {
    return false;
}

/* ---- quads: four neighbouring lanes
 * --------------------------------------------------------------- */
__ingot_inline uint __ingot_quad_base() {
    return __ingot_lane() & ~3u;
}
__ingot_inline uint __ingot_quad_mask(bool x) {
    return (__ingot_simd_ballot(x) >> __ingot_quad_base()) & 15u;
}
/* A lane that is not in the quad is the own one, as past the end of a SIMD-group. */
__ingot_inline uint __ingot_in_quad(ushort lane) {
    return lane > 3 ? __ingot_lane() : __ingot_quad_base() | lane;
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle(T x, ushort lane) __INGOT_PORTABLE {
    return __ingot_fetch(x, __ingot_in_quad(lane));
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_broadcast(T x, ushort lane) __INGOT_PORTABLE {
    return __ingot_fetch(x, __ingot_in_quad(lane));
}
template <class T> __ingot_inline __ingot_if_crosses<T> quad_broadcast_first(T x) __INGOT_PORTABLE {
    return __ingot_fetch(x, __ingot_quad_base() | (uint)__builtin_ctz(__ingot_quad_mask(true)));
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle_xor(T x, ushort mask) __INGOT_PORTABLE {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, mask > 3 ? lane : lane ^ mask);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle_up(T x, ushort delta) __INGOT_PORTABLE {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, (lane & 3u) < delta ? lane : lane - delta);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle_down(T x, ushort delta) __INGOT_PORTABLE {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, (lane & 3u) + delta > 3 ? lane : lane + delta);
}
template <class T> __ingot_inline __ingot_if_crosses<T> quad_shuffle_rotate_up(T x, ushort delta) {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, (lane & ~3u) | ((lane - delta) & 3u));
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle_rotate_down(T x, ushort delta) {
    uint lane = __ingot_lane();
    return __ingot_fetch(x, (lane & ~3u) | ((lane + delta) & 3u));
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle_and_fill_up(T x, type_identity_t<T> fill,
                                                              ushort delta, ushort modulo = 4) {
    return simd_shuffle_and_fill_up(x, fill, delta, modulo);
}
template <class T>
__ingot_inline __ingot_if_crosses<T> quad_shuffle_and_fill_down(T x, type_identity_t<T> fill,
                                                                ushort delta, ushort modulo = 4) {
    return simd_shuffle_and_fill_down(x, fill, delta, modulo);
}

/* op over the lanes of the quad whose bit is set in `lanes`, the others counting as `identity`;
 * halving tree: 0 with 2, 1 with 3. */
template <class T, class F>
__ingot_inline T __ingot_quad_reduce(T x, uint lanes, T identity, F op) {
    uint base = __ingot_quad_base();
    T e[4];
    for (int i = 0; i < 4; i++) {
        T other = __ingot_fetch(x, base + i);
        e[i] = (lanes >> i & 1u) != 0 ? other : identity;
    }
    return op(op(e[0], e[2]), op(e[1], e[3]));
}
/* In lane order, for the prefix operations. */
template <class T, class F> __ingot_inline T __ingot_quad_scan(T x, uint lanes, T identity, F op) {
    uint base = __ingot_quad_base();
    T r = identity;
    for (int i = 0; i < 4; i++) {
        T other = __ingot_fetch(x, base + i);
        r = (lanes >> i & 1u) != 0 ? op(r, other) : r;
    }
    return r;
}
/* The largest and smallest value of a carrier: the identities of min and max. */
template <class C> __ingot_inline C __ingot_top() {
    if constexpr (__is_same(C, float)) {
        return __builtin_inff();
    } else if constexpr (__is_signed(C)) {
        return C(__ingot_bits_t<C>(~__ingot_bits_t<C>(0)) >> 1);
    } else {
        return C(~C(0));
    }
}
template <class C> __ingot_inline C __ingot_bottom() {
    if constexpr (__is_same(C, float)) {
        return -__builtin_inff();
    } else if constexpr (__is_signed(C)) {
        return C(-__ingot_top<C>() - 1);
    } else {
        return C(0);
    }
}

#define __INGOT_QUAD(name, condition, reduce, lanes, identity, ...)                                \
    template <class T>                                                                             \
    __ingot_inline enable_if_t<(condition), T> quad_##name(T x) __INGOT_PORTABLE {                 \
        if constexpr (is_vector_v<T>) {                                                            \
            T r = x;                                                                               \
            for (int i = 0; i < int(vec_elements_v<T>); i++) {                                     \
                r[i] = quad_##name(make_scalar_t<T>(x[i]));                                        \
            }                                                                                      \
            return r;                                                                              \
        } else {                                                                                   \
            using C = __ingot_carrier_t<T>;                                                        \
            uint active = __ingot_quad_mask(true), own = __ingot_lane() & 3u;                      \
            (void)own;                                                                             \
            return (T)reduce<C>((C)x, active & (lanes), (identity),                                \
                                [](C a, C b) -> C { return __VA_ARGS__; });                        \
        }                                                                                          \
    }
#define __INGOT_ANY_TYPE __ingot_crosses<T>
#define __INGOT_INTEGER  __ingot_crosses<T> &&__ingot_is_integer<make_scalar_t<T>>
__INGOT_QUAD(sum, __INGOT_ANY_TYPE, __ingot_quad_reduce, 15u, C(0), a + b)
__INGOT_QUAD(product, __INGOT_ANY_TYPE, __ingot_quad_reduce, 15u, C(1), a *b)
__INGOT_QUAD(min, __INGOT_ANY_TYPE, __ingot_quad_reduce, 15u, __ingot_top<C>(),
             b < a || a != a ? b : a)
__INGOT_QUAD(max, __INGOT_ANY_TYPE, __ingot_quad_reduce, 15u, __ingot_bottom<C>(),
             b > a || a != a ? b : a)
__INGOT_QUAD(and, __INGOT_INTEGER, __ingot_quad_reduce, 15u, C(~C(0)), a &b)
__INGOT_QUAD(or, __INGOT_INTEGER, __ingot_quad_reduce, 15u, C(0), a | b)
__INGOT_QUAD(xor, __INGOT_INTEGER, __ingot_quad_reduce, 15u, C(0), a ^ b)
__INGOT_QUAD(prefix_inclusive_sum, __INGOT_ANY_TYPE, __ingot_quad_scan, (2u << own) - 1u, C(0),
             a + b)
__INGOT_QUAD(prefix_exclusive_sum, __INGOT_ANY_TYPE, __ingot_quad_scan, (1u << own) - 1u, C(0),
             a + b)
__INGOT_QUAD(prefix_inclusive_product, __INGOT_ANY_TYPE, __ingot_quad_scan, (2u << own) - 1u, C(1),
             a *b)
__INGOT_QUAD(prefix_exclusive_product, __INGOT_ANY_TYPE, __ingot_quad_scan, (1u << own) - 1u, C(1),
             a *b)
#undef __INGOT_QUAD
#undef __INGOT_ANY_TYPE
#undef __INGOT_INTEGER

struct quad_vote {
    using vote_t = uint;
    vote_t __bits;
    quad_vote() = default;
    __ingot_inline explicit constexpr quad_vote(vote_t bits) : __bits(bits) {}
    __ingot_inline explicit constexpr operator vote_t() const {
        return __bits;
    }
    __ingot_inline constexpr bool all() const {
        return __bits == 15u;
    }
    __ingot_inline constexpr bool any() const {
        return __bits != 0;
    }
    friend __ingot_inline constexpr quad_vote operator&(quad_vote a, quad_vote b) {
        return quad_vote(a.__bits & b.__bits);
    }
    friend __ingot_inline constexpr quad_vote operator|(quad_vote a, quad_vote b) {
        return quad_vote(a.__bits | b.__bits);
    }
    friend __ingot_inline constexpr quad_vote operator^(quad_vote a, quad_vote b) {
        return quad_vote(a.__bits ^ b.__bits);
    }
    friend __ingot_inline constexpr quad_vote operator~(quad_vote a) {
        return quad_vote(~a.__bits & 15u);
    }
    friend __ingot_inline constexpr bool operator==(quad_vote a, quad_vote b) {
        return a.__bits == b.__bits;
    }
    friend __ingot_inline constexpr bool operator!=(quad_vote a, quad_vote b) {
        return a.__bits != b.__bits;
    }
};
__ingot_inline quad_vote quad_ballot(bool x) {
    return quad_vote(__ingot_quad_mask(x));
}
__ingot_inline quad_vote quad_active_threads_mask() {
    return quad_vote(__ingot_quad_mask(true));
}
__ingot_inline bool quad_all(bool x) {
    return __ingot_quad_mask(!x) == 0;
}
__ingot_inline bool quad_any(bool x) {
    return __ingot_quad_mask(x) != 0;
}
__ingot_inline bool quad_is_first() {
    return (__ingot_lane() & 3u) == (uint)__builtin_ctz(__ingot_quad_mask(true));
}
__ingot_inline bool quad_is_helper_thread() {
    return false;
}
} // namespace metal
