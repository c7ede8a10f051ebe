// A file that begins with the byte order mark of UTF-8, as some editors write it.
// RUN: kernel=k threads=4
// ARG 0: i32[4]
// EXPECT 0: i32[4] = i + 1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i + 1; }
