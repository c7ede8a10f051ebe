// RUN: kernel=k threads=50 group=50
// ARG 0: f32[50] = i
// ARG 1: f32[50]
// EXPECT 1: f32[50] = 49 - i
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[49 - i];
}
