// Maths functions on vectors work on each component.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [1 4 9 16]
// ARG 1: f32[8]
// EXPECT 1: f32 [1 2 3 4 4 4 9 16]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]]) {
    y[0] = sqrt(x[0]);
    y[1] = max(x[0], 4.0f);
}
