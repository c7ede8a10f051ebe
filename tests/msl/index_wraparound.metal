// A 32-bit index that wraps before it is widened.
// RUN: kernel=k threads=8 group=8
// ARG 0: i32 [10 11 12 13 14 15 16 17]
// ARG 1: i32[8]
// EXPECT 1: i32 [14 15 16 17 10 11 12 13]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    uint j = i + 0xfffffffcu;
    y[i] = x[j % 8];
}
