// Without contraction a * b + c rounds twice.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [1.00000012 0.99999988 -1]
// ARG 1: f32[1]
// EXPECT 1: f32 [0]
#include <metal_stdlib>
using namespace metal;

#pragma METAL fp contract(off)
kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]]) { y[0] = x[0] * x[1] + x[2]; }
