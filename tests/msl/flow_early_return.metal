// Threads past the end return at once.
// RUN: kernel=k threads=100 group=32
// ARG 0: i32[100] = -1
// ARG 1: u32 = 77
// EXPECT 0: i32[100] = i < 77 ? i * 3 : -1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (i >= n)
        return;
    x[i] = i * 3;
}
