// Packed vectors: arithmetic through the ordinary ones, components by name and index.
// RUN: kernel=k threads=2 group=2
// ARG 0: f32 [1 2 3 4 5 6]
// ARG 1: f32[6]
// EXPECT 1: f32 [3 4 3 9 10 6]
#include <metal_stdlib>
using namespace metal;

kernel void k(device packed_float3 *x [[buffer(0)]], device packed_float3 *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float3 v = float3(x[i]) * 2;
    packed_float3 p = packed_float3(v);
    p.x += 1;
    p[2] /= 2;
    y[i] = p;
}
