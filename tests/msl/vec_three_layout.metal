// float3 takes 16 bytes in memory; packed_float3 takes 12.
// RUN: kernel=k threads=2 group=2
// ARG 0: f32 [1 2 3 -1 4 5 6 -1]
// ARG 1: f32[6]
// EXPECT 1: f32 [1 2 3 4 5 6]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float3 *x [[buffer(0)]], device packed_float3 *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i];
}
