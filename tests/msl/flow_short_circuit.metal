// The right side of && and || runs only in lanes that need it.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = i
// ARG 1: i32[32]
// EXPECT 1: i32[32] = i < 16 && i % 2 ? 1 : 0
#include <metal_stdlib>
using namespace metal;

bool touch(device int *x, uint i) {
    x[i] = -1;
    return i % 2;
}
kernel void k(device int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    bool r = i < 16 && touch(x, i);
    y[i] = r;
}
