// A conditional operator that reads only where the index is valid.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32 [5 6 7 8]
// ARG 1: i32[64]
// EXPECT 1: i32[64] = i < 4 ? i + 5 : -1
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = i < 4 ? x[i * 1] : -1;
}
