// Scalars read as vectors through a cast.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[16] = i
// ARG 1: f32[4]
// EXPECT 1: f32[4] = 16 * i + 6
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float4 v = *(device const float4 *)(x + 4 * i);
    y[i] = v.x + v.y + v.z + v.w;
}
