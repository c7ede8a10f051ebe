// A private array indexed differently in each lane.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = ((i * 3) % 8) * ((i * 3) % 8) + i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a[8];
    for (int j = 0; j < 8; j++)
        a[j] = j * j + i;
    x[i] = a[(i * 3) % 8];
}
