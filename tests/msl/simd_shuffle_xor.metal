// The butterfly sum.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[64] = i
// EXPECT 0: f32[64] = sum(j, 0, 32, 32 * idiv(i, 32) + j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v = x[i];
    for (ushort m = 16; m > 0; m /= 2)
        v += simd_shuffle_xor(v, m);
    x[i] = v;
}
