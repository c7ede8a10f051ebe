// Vectors from scalars, from parts, and by splat.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[16]
// EXPECT 0: f32 [7 7 7 7 1 2 3 4 5 6 1 2 1 2 3 9]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float4 *x [[buffer(0)]]) {
    float2 a(1, 2);
    float3 b(a, 3);
    x[0] = float4(7);
    x[1] = float4(a, 3, 4);
    x[2] = float4(float2(5, 6), a);
    x[3] = float4(b, 9);
}
