// Shuffles of half, 64-bit integers and vectors.
// RUN: kernel=k threads=32 group=32
// ARG 0: f16[32]
// ARG 1: i64[32]
// ARG 2: f32[64]
// EXPECT 0: f16[32] = (i ^ 3) / 2
// EXPECT 1: i64[32] = (i ^ 3) * 10000000000
// EXPECT 2: f32[64] = i % 2 ? 0 - (idiv(i, 2) ^ 3) : idiv(i, 2) ^ 3
#include <metal_stdlib>
using namespace metal;

kernel void k(device half *h [[buffer(0)]], device long *l [[buffer(1)]], device float2 *v [[buffer(2)]],
              uint i [[thread_index_in_simdgroup]]) {
    h[i] = simd_shuffle_xor(half(i) / 2, 3);
    l[i] = as_type<long>(simd_shuffle_xor(as_type<uint2>(long(i) * 10000000000L), 3));
    v[i] = simd_shuffle_xor(float2(i, -float(i)), 3);
}
