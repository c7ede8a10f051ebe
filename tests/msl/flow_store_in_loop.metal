// Stores inside a divergent loop happen for live lanes only.
// RUN: kernel=k threads=16 group=16
// ARG 0: i32[256] = -1
// EXPECT 0: i32[256] = i % 16 < idiv(i, 16) ? i % 16 : -1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    for (uint j = 0; j < i; j++)
        x[16 * i + j] = j;
}
