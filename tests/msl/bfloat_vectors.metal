// RUN: kernel=k threads=1 group=1
// ARG 0: bf16 [1 2 3 4]
// ARG 1: f32[4]
// EXPECT 1: f32 [8 6 4 2]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const bfloat4 *x [[buffer(0)]], device float4 *y [[buffer(1)]]) { y[0] = float4(x[0].wzyx) * 2; }
