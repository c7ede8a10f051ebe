// volatile device memory.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32 [1 2 3 4]
// EXPECT 0: i32 [2 4 6 8]
#include <metal_stdlib>
using namespace metal;

kernel void k(volatile device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = x[i] + x[i]; }
