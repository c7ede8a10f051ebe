// 64-bit indices and pointer arithmetic.
// RUN: kernel=k threads=16 group=16
// ARG 0: i32[48] = i
// ARG 1: i32[16]
// EXPECT 1: i32[16] = 3 * i + 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    device const int *p = x + size_t(i) * 3;
    p += 2;
    y[i] = *p;
}
