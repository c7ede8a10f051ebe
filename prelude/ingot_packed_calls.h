/*
 * Functions of the library on packed vectors, and geometric ones on a vector and a number, as the
 * implicit conversions of Metal's own types allow. Those of ingot_math.h take packed vectors
 * themselves.
 */
#pragma once
#include "ingot_geometric.h"
#include "ingot_integer.h"
#include "ingot_packed.h"
#include "ingot_relational.h"

namespace metal {
template <class T> constexpr bool __ingot_is_packed = false;
template <class T, int N> inline constexpr bool __ingot_is_packed<packed_vec<T, N>> = true;
template <class T, int N>
inline constexpr bool __ingot_is_packed<__ingot_packed_operand<T, N>> = true;

#define __INGOT_UNPACKED(name)                                                                     \
    template <class... A, enable_if_t<(__ingot_is_packed<A> || ...), int> = 0>                     \
    __ingot_inline constexpr auto name(A... a) {                                                   \
        return name(__ingot_plain(a)...);                                                          \
    }
__INGOT_UNPACKED(dot)
__INGOT_UNPACKED(cross)
__INGOT_UNPACKED(length)
__INGOT_UNPACKED(length_squared)
__INGOT_UNPACKED(distance)
__INGOT_UNPACKED(distance_squared)
__INGOT_UNPACKED(normalize)
__INGOT_UNPACKED(reflect)
__INGOT_UNPACKED(refract)
__INGOT_UNPACKED(faceforward)
__INGOT_UNPACKED(abs)
__INGOT_UNPACKED(absdiff)
__INGOT_UNPACKED(addsat)
__INGOT_UNPACKED(clamp)
__INGOT_UNPACKED(clz)
__INGOT_UNPACKED(ctz)
__INGOT_UNPACKED(extract_bits)
__INGOT_UNPACKED(hadd)
__INGOT_UNPACKED(insert_bits)
__INGOT_UNPACKED(mad24)
__INGOT_UNPACKED(madhi)
__INGOT_UNPACKED(madsat)
__INGOT_UNPACKED(max)
__INGOT_UNPACKED(max3)
__INGOT_UNPACKED(median3)
__INGOT_UNPACKED(min)
__INGOT_UNPACKED(min3)
__INGOT_UNPACKED(mul24)
__INGOT_UNPACKED(mulhi)
__INGOT_UNPACKED(popcount)
__INGOT_UNPACKED(reverse_bits)
__INGOT_UNPACKED(rhadd)
__INGOT_UNPACKED(rotate)
__INGOT_UNPACKED(subsat)
__INGOT_UNPACKED(all)
__INGOT_UNPACKED(any)
__INGOT_UNPACKED(isequal)
__INGOT_UNPACKED(isfinite)
__INGOT_UNPACKED(isinf)
__INGOT_UNPACKED(isnan)
__INGOT_UNPACKED(isnormal)
__INGOT_UNPACKED(isnotequal)
__INGOT_UNPACKED(isordered)
__INGOT_UNPACKED(isunordered)
__INGOT_UNPACKED(select)
__INGOT_UNPACKED(signbit)
#undef __INGOT_UNPACKED

/* dot(v, 1): the number is a vector of itself. */
#define __INGOT_SPREAD(name)                                                                       \
    template <class T, int N, class S, enable_if_t<__ingot_is_number<S>, int> = 0>                 \
    __ingot_inline auto name(vec<T, N> a, S b) {                                                   \
        return name(a, vec<T, N>(T(b)));                                                           \
    }                                                                                              \
    template <class T, int N, class S, enable_if_t<__ingot_is_number<S>, int> = 0>                 \
    __ingot_inline auto name(S a, vec<T, N> b) {                                                   \
        return name(vec<T, N>(T(a)), b);                                                           \
    }
__INGOT_SPREAD(dot)
__INGOT_SPREAD(distance)
__INGOT_SPREAD(distance_squared)
__INGOT_SPREAD(reflect)
#undef __INGOT_SPREAD
} // namespace metal
