// Lanes that do not divide must not trap on a divisor of zero.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64] = i % 4
// ARG 1: i32[64]
// EXPECT 1: i32[64] = i % 4 == 0 ? -1 : idiv(1000, i % 4)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *d [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int v = -1;
    if (d[i] != 0)
        v = 1000 / d[i];
    y[i] = v;
}
