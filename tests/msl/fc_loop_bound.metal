// A constant as a loop bound, and only used by one of two kernels.
// RUN: kernel=powers threads=3 group=3
// CONST steps: i32 = 4
// ARG 0: i32 [1 2 3]
// EXPECT 0: i32 [16 32 48]
// RUN: kernel=plain threads=3 group=3
// ARG 0: i32 [1 2 3]
// EXPECT 0: i32 [2 3 4]
#include <metal_stdlib>
using namespace metal;

constant int steps [[function_constant(0)]];
kernel void powers(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    for (int s = 0; s < steps; s++)
        x[i] *= 2;
}
kernel void plain(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += 1; }
