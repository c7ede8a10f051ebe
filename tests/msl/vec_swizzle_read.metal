// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32[12]
// EXPECT 1: f32 [4 3 2 1 1 1 2 2 3 1 4 2]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]]) {
    float4 v = x[0];
    y[0] = v.wzyx;
    y[1] = v.xxyy;
    y[2] = float4(v.zx, v.ag);
}
