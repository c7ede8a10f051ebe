// A longer vector converts explicitly to a shorter one: its first components. Functions by their names in simd::.
// RUN: kernel=k threads=1
// ARG 0: f32 [1.5 2.5 3.5 4.5]
// ARG 1: f32[4]
// ARG 2: i32[8]
// EXPECT 1: f32 [3 5 7 9]
// EXPECT 2: i32 [1 2 1 2 3 1 0 5]
#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void k(constant float4 &in [[buffer(0)]], device float4 *out [[buffer(1)]], device int *n [[buffer(2)]]) {
    float3 three = float3(in);
    float2 two = float2(three) * 2;
    *out = float4(two, 2 * float2(in.zwxy));
    int2 whole = int2(in);
    n[0] = whole.x;
    n[1] = whole.y;
    ushort3 small = static_cast<ushort3>(in);
    n[2] = small.x;
    n[3] = small.y;
    n[4] = small.z;
    n[5] = simd::all(simd::min(three, float3(2)) < float3(3));
    n[6] = simd::any(three > 4);
    n[7] = int(simd::length(simd::float2(3, 4)));
}
