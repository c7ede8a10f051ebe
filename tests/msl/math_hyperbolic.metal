// RUN: kernel=k threads=128 group=64
// ARG 0: f32[128] = rand(8) * 8 - 4
// ARG 1: f32[128]
// ARG 2: f32[128]
// ARG 3: f32[128]
// EXPECT 1: f32[128] = sinh(f32(rand(8) * 8 - 4)) ; ulp=5
// EXPECT 2: f32[128] = cosh(f32(rand(8) * 8 - 4)) ; ulp=5
// EXPECT 3: f32[128] = tanh(f32(rand(8) * 8 - 4)) ; ulp=5
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *a [[buffer(1)]], device float *b [[buffer(2)]],
              device float *c [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    a[i] = precise::sinh(x[i]);
    b[i] = precise::cosh(x[i]);
    c[i] = precise::tanh(x[i]);
}
