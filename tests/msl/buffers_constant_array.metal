// `constant T *` is an array.
// RUN: kernel=k threads=6 group=6
// ARG 0: f32[6]
// ARG 1: f32 [1 2 4 8 16 32]
// EXPECT 0: f32 [32 16 8 4 2 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i] = c[5 - i];
}
