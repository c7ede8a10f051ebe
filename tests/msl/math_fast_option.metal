// The whole file with fast maths.
// OPTIONS: fast-math
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[64] = rand(13) * 10 + 0.1
// ARG 1: f32[64]
// EXPECT 1: f32[64] = exp(0 - f32(rand(13) * 10 + 0.1)) + sqrt(f32(rand(13) * 10 + 0.1)) ; rel=1e-5
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = exp(-x[i]) + sqrt(x[i]);
}
