// Lanes that leave a loop no longer take part.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = sum(j, 0, i + 1, 32 - j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int total = 0;
    for (uint j = 0; j <= i; j++)
        total += simd_sum(1);
    y[i] = total;
}
