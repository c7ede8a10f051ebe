// Shifts by varying amounts, signed and unsigned.
// RUN: kernel=k threads=31 group=31
// ARG 0: u32[31]
// ARG 1: i32[31]
// EXPECT 0: u32[31] = 1 << i
// EXPECT 1: i32[31] = floor(0 - 1000000 / pow(2, i))
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1u << i;
    y[i] = -1000000 >> i;
}
