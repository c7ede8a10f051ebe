// Small integers in float: exact in any order.
// RUN: kernel=k threads=48 group=48
// ARG 0: f32[48] = i % 5
// EXPECT 0: f32[48] = sum(j, 32 * idiv(i, 32), i + 1, j % 5)
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = simd_prefix_inclusive_sum(x[i]); }
