// sqrt and division are correctly rounded; rsqrt is close.
// RUN: kernel=k threads=256 group=64
// ARG 0: f32[256] = rand(5) * 100 + 0.001
// ARG 1: f32[256]
// ARG 2: f32[256]
// ARG 3: f32[256]
// EXPECT 1: f32[256] = sqrt(f32(rand(5) * 100 + 0.001)) ; ulp=1
// EXPECT 2: f32[256] = 1 / sqrt(f32(rand(5) * 100 + 0.001)) ; ulp=2
// EXPECT 3: f32[256] = 1 / f32(rand(5) * 100 + 0.001) ; ulp=1
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], device float *z [[buffer(2)]],
              device float *w [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    y[i] = precise::sqrt(x[i]);
    z[i] = precise::rsqrt(x[i]);
    w[i] = 1.0f / x[i];
}
