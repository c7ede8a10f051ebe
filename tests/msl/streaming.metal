// A kernel that says that it mostly moves data (prelude/ingot_builtins.h) has narrower vectors on some CPUs,
// and the same results: whole and partial SIMD-groups, divergence, sums, prefixes and shuffles.
// RUN: kernel=sums threads=100,1,1 group=64,1,1
// ARG 0: f32[100] = i
// ARG 1: f32[100]
// EXPECT 1: f32[100] = i < 96 ? 1024 * idiv(i, 32) + 496 : 390
// RUN: kernel=lanes threads=64,1,1 group=64,1,1
// ARG 0: u32[64] = i
// ARG 1: u32[64]
// EXPECT 1: u32[64] = i % 3 == 0 ? i + 31 - i % 32 : (i - i % 32) + idiv(i % 32, 4)
#include <metal_stdlib>
using namespace metal;

kernel void sums(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    __ingot_streaming();
    out[i] = simd_sum(in[i]);
}

kernel void lanes(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    __ingot_streaming();
    uint value = simd_shuffle(in[i], ushort(lane / 4));
    const uint last = simd_max(in[i]);
    for (uint k = 0; k < 3; k++) {
        if (i % 3 == k) {
            value = k == 0 ? last : value;
        }
    }
    out[i] = value;
}
