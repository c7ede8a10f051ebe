// RUN: kernel=k threads=40 group=40
// ARG 0: i32[40]
// EXPECT 0: i32[40] = max(1, i)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint n = 0;
    do {
        n++;
    } while (n < i);
    x[i] = n;
}
