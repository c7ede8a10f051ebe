// Both sides of a branch reduce over their own lanes.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = i < 10 ? 45 : sum(j, 10, 32, j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i < 10)
        y[i] = simd_sum(int(i));
    else
        y[i] = simd_sum(int(i));
}
