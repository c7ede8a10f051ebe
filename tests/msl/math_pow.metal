// RUN: kernel=k threads=128 group=64
// ARG 0: f32[128] = rand(9) * 10 + 0.1
// ARG 1: f32[128] = rand(10) * 8 - 4
// ARG 2: f32[128]
// EXPECT 2: f32[128] = pow(f32(rand(9) * 10 + 0.1), f32(rand(10) * 8 - 4)) ; ulp=16
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device const float *y [[buffer(1)]], device float *z [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    z[i] = pow(x[i], y[i]);
}
