// C = A·B of one 8×8 tile.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i % 7
// ARG 1: f32[64] = i % 5 - 2
// ARG 2: f32[64]
// EXPECT 2: f32[64] = sum(j, 0, 8, ((8 * idiv(i, 8) + j) % 7) * ((8 * j + i % 8) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    simdgroup_float8x8 ma, mb, mc;
    simdgroup_load(ma, a, 8);
    simdgroup_load(mb, b, 8);
    simdgroup_multiply(mc, ma, mb);
    simdgroup_store(mc, c, 8);
}
