// fast:: functions are near the true values.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[64] = rand(12) * 10 + 0.1
// ARG 1: f32[64]
// ARG 2: f32[64]
// EXPECT 1: f32[64] = exp(f32(rand(12) * 10 + 0.1)) ; rel=1e-5
// EXPECT 2: f32[64] = log(f32(rand(12) * 10 + 0.1)) ; rel=1e-4 tol=1e-5
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], device float *z [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    y[i] = fast::exp(x[i]);
    z[i] = fast::log(x[i]);
}
