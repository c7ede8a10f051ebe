// RUN: kernel=k threads=6 group=6
// ARG 0: i32 [-5 0 3 7 10 100]
// ARG 1: i32[6]
// EXPECT 1: i32 [0 0 3 7 9 9]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = clamp(x[i], 0, 9);
    y[i] = max(min(y[i], 9), 0);
}
