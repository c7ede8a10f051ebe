// References with address spaces as parameters of functions.
// RUN: kernel=k threads=3 group=3
// ARG 0: i32 [1 2 3]
// EXPECT 0: i32 [11 12 13]
#include <metal_stdlib>
using namespace metal;

void bump(device int &x, thread const int &by) { x += by; }
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int by = 10;
    bump(x[i], by);
}
