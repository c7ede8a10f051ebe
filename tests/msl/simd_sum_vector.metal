// Reductions of vectors work per component.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[2]
// EXPECT 0: f32 [496 32]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float2 *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float2 s = simd_sum(float2(i, 1));
    if (i == 0)
        y[0] = s;
}
