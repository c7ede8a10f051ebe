// RUN: kernel=k threads=1 group=1
// ARG 0: f32[3]
// EXPECT 0: f32 [-2 -3 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    x[0] = determinant(float2x2(float2(1, 2), float2(3, 4)));
    x[1] = determinant(float3x3(float3(1, 4, 7), float3(2, 5, 8), float3(3, 6, 10)));
    x[2] = determinant(float4x4(1));
}
