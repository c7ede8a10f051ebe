// A grid that is no multiple of anything.
// RUN: kernel=k threads=77 group=33
// ARG 0: i32[80]
// EXPECT 0: i32[80] = i < 77 ? i + 1 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += i + 1; }
