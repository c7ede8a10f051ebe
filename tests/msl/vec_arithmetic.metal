// Component-wise arithmetic, with scalars on either side.
// RUN: kernel=k threads=2 group=2
// ARG 0: f32 [1 2 3 4 5 6 7 8]
// ARG 1: f32[8]
// EXPECT 1: f32 [0 -2.5 -5 -7.5 -10 -12.5 -15 -17.5]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float4 v = x[i];
    y[i] = (2 - v * 2) - v / 2 + 0.5f;
}
