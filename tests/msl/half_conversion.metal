// Conversions to and from half, with overflow to infinity and subnormals.
// RUN: kernel=k threads=6 group=6
// ARG 0: f32 [1.5 70000 -70000 5.9604645e-08 2.0e-08 1.0009765]
// ARG 1: f16[6]
// ARG 2: f32[6]
// EXPECT 1: f16 [1.5 inf -inf 5.9604645e-08 0 1.0009765]
// EXPECT 2: f32 [1.5 inf -inf 5.9604645e-08 0 1.0009766]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device half *h [[buffer(1)]], device float *y [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    h[i] = half(x[i]);
    y[i] = float(h[i]);
}
