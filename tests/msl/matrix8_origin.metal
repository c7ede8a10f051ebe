// The origin picks a tile out of a larger matrix: column first, then row.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[256] = i
// ARG 1: f32[64]
// EXPECT 1: f32[64] = 16 * (8 + idiv(i, 8)) + 4 + i % 8
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device float *b [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 16, ulong2(4, 8));
    simdgroup_store(m, b, 8);
}
