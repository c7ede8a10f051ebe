// half operands, float accumulator.
// RUN: kernel=k threads=32 group=32
// ARG 0: f16[64] = i % 5
// ARG 1: f16[64] = i % 3 - 1
// ARG 2: f32[64]
// EXPECT 2: f32[64] = sum(j, 0, 8, ((8 * idiv(i, 8) + j) % 5) * ((8 * j + i % 8) % 3 - 1))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    simdgroup_half8x8 ma, mb;
    simdgroup_float8x8 mc = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_load(ma, a, 8);
    simdgroup_load(mb, b, 8);
    simdgroup_multiply_accumulate(mc, ma, mb, mc);
    simdgroup_store(mc, c, 8);
}
