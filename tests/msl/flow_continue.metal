// continue under divergence.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = sum(j, 0, 12, (j + i) % 3 == 0 ? 0 : j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n = 0;
    for (uint j = 0; j < 12; j++) {
        if ((j + i) % 3 == 0)
            continue;
        n += j;
    }
    x[i] = n;
}
