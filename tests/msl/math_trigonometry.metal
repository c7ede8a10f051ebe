// sin, cos, tan within 4 to 6 ULP.
// RUN: kernel=k threads=256 group=64
// ARG 0: f32[256] = rand(7) * 200 - 100
// ARG 1: f32[256]
// ARG 2: f32[256]
// ARG 3: f32[256]
// EXPECT 1: f32[256] = sin(f32(rand(7) * 200 - 100)) ; ulp=4
// EXPECT 2: f32[256] = cos(f32(rand(7) * 200 - 100)) ; ulp=4
// EXPECT 3: f32[256] = tan(f32(rand(7) * 200 - 100)) ; ulp=6
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *a [[buffer(1)]], device float *b [[buffer(2)]],
              device float *c [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    a[i] = precise::sin(x[i]);
    b[i] = precise::cos(x[i]);
    c[i] = precise::tan(x[i]);
}
