// Partial groups in 2-D with a group whose rows are no multiple of a SIMD-group.
// RUN: kernel=k threads=13,11 group=5,3
// ARG 0: i32[160]
// EXPECT 0: i32[160] = i < 143 ? 1 + (i % 13) * idiv(i, 13) : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) { x[p.y * 13 + p.x] += 1 + p.x * p.y; }
