// The smallest groups.
// RUN: kernel=k threads=7,3 group=1
// ARG 0: i32[21]
// EXPECT 0: i32[21] = i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) { x[p.y * 7 + p.x] = p.y * 7 + p.x; }
