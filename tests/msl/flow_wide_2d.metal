// A group as wide as a SIMD-group, several rows.
// RUN: kernel=k threads=64,6 group=32,4
// ARG 0: i32[384]
// EXPECT 0: i32[384] = (i % 64) * 1000 + idiv(i, 64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) { x[p.y * 64 + p.x] = p.x * 1000 + p.y; }
