// Rounding of floats to bfloat at ties, near infinity and for NaN.
// RUN: kernel=k threads=5 group=5
// ARG 0: f32 [1.00390625 1.01171875 3.3961776e38 -1.00390625 nan]
// ARG 1: bf16[5]
// EXPECT 1: bf16 [1 1.015625 inf -1 nan]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device bfloat *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = bfloat(x[i]);
}
