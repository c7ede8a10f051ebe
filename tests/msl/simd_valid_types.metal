// Programs ask Apple's library which types its SIMD-group functions take, and bring functions of their own for others.
// RUN: kernel=sums threads=32
// ARG 0: i64[2]
// EXPECT 0: i64 [1099511628272 496]
#include <metal_stdlib>
using namespace metal;

struct two {
    float a, b;
};
static_assert(__is_valid_simdgroup_type<float>::value && __is_valid_simdgroup_type<ushort4>::value, "taken");
static_assert(!__is_valid_simdgroup_type<long>::value && !__is_valid_simdgroup_type<bool>::value, "not taken");
static_assert(!__is_valid_simdgroup_type<ulong2>::value && !__is_valid_simdgroup_type<two>::value, "not taken");

template <typename T> T sum(T x) {
    if constexpr (__is_valid_simdgroup_type<T>::value) {
        return simd_sum(x);
    } else {
        for (ushort d = 16; d > 0; d /= 2) {
            x += as_type<T>(simd_shuffle_xor(as_type<uint2>(x), d));
        }
        return x;
    }
}
kernel void sums(device long *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[0] = sum(long(i) + (i == 3 ? 1L << 40 : 0L));
    out[1] = sum(i);
}
