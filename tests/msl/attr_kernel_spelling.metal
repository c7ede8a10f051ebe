// `kernel` and `[[kernel]]` mean the same.
// RUN: kernel=first threads=4 group=4
// ARG 0: i32[4]
// EXPECT 0: i32 [1 1 1 1]
// RUN: kernel=second threads=4 group=4
// ARG 0: i32[4]
// EXPECT 0: i32 [2 2 2 2]
#include <metal_stdlib>
using namespace metal;

kernel void first(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 1; }
[[kernel]] void second(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 2; }
