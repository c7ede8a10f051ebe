// Reads with strides 2, 3 and 4, and structs of three.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[32]
// EXPECT 1: f32[32] = 2 * i + 3 * i + 1 + 4 * i + 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[2 * i] + x[3 * i + 1] + x[4 * i + 2];
}
