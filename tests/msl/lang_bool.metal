// bool in memory, in vectors, and as a number.
// RUN: kernel=k threads=4 group=4
// ARG 0: bool [1 0 1 1]
// ARG 1: i32[4]
// EXPECT 0: bool [0 1 0 0]
// EXPECT 1: i32 [1 0 1 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device bool *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i];
    x[i] = !x[i];
}
