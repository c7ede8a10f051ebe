// sin and cos far from zero keep their accuracy.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [1000000 31415926 1e10 1e20]
// ARG 1: f32[4]
// EXPECT 1: f32[4] = sin(i == 0 ? 1000000 : i == 1 ? f32(31415926) : i == 2 ? f32(1e10) : f32(1e20)) ; ulp=4
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = precise::sin(x[i]);
}
