// Divergent loops inside divergent loops.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = sum(a, 0, i % 6, sum(b, 0, (a + i) % 4, a * 10 + b))
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n = 0;
    for (uint a = 0; a < i % 6; a++)
        for (uint b = 0; b < (a + i) % 4; b++)
            n += a * 10 + b;
    x[i] = n;
}
