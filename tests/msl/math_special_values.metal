// Limits: exp of large numbers, log of zero and of negative numbers, division by zero.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [200 -200 0 -1]
// ARG 1: f32[6]
// EXPECT 1: f32 [inf 0 -inf nan inf nan]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    y[0] = exp(x[0]);
    y[1] = exp(x[1]);
    y[2] = log(x[2]);
    y[3] = log(x[3]);
    y[4] = 1.0f / x[2];
    y[5] = sqrt(x[3]);
}
