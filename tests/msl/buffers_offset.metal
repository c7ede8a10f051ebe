// A buffer bound at an offset.
// RUN: kernel=k threads=4 group=4
// ARG 0+64: f32 [1 2 3 4]
// EXPECT 0: f32 [3 6 9 12]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 3; }
