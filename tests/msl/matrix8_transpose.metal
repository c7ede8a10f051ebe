// A transposed load, and a transposed store.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// ARG 2: f32[64]
// EXPECT 1: f32[64] = 8 * (i % 8) + idiv(i, 8)
// EXPECT 2: f32[64] = 8 * (i % 8) + idiv(i, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device float *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8, ulong2(0, 0), true);
    simdgroup_store(m, b, 8);
    simdgroup_load(m, a, 8);
    simdgroup_store(m, c, 8, ulong2(0, 0), true);
}
