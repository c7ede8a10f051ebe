// Matrices of other shapes, sums and scaling.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[6]
// EXPECT 0: f32 [4 6 8 10 12 14]
#include <metal_stdlib>
using namespace metal;

kernel void k(device packed_float3 *x [[buffer(0)]]) {
    float2x3 m(float3(1, 2, 3), float3(4, 5, 6));
    float2x3 n = m * 2 + float2x3(float3(2), float3(2));
    x[0] = n[0];
    x[1] = n[1];
}
