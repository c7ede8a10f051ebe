// Sums per SIMD-group; the last one is partial.
// RUN: kernel=k threads=80 group=80
// ARG 0: i32[80] = i
// ARG 1: i32[80]
// EXPECT 1: i32[80] = sum(j, 32 * idiv(i, 32), min(80, 32 * idiv(i, 32) + 32), j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = simd_sum(x[i]);
}
