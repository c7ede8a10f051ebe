// The largest group, in 2-D.
// RUN: kernel=k threads=64,64 group=32,32
// ARG 0: i32[4096]
// EXPECT 0: i32[4096] = 64 * (63 - idiv(i, 64)) + i % 64
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) { x[(63 - p.y) * 64 + p.x] = p.y * 64 + p.x; }
