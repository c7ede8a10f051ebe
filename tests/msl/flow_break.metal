// break under divergence.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = sum(j, 0, min(20, i), 1) * 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n = 0;
    for (uint j = 0; j < 20; j++) {
        if (j >= i)
            break;
        n += 2;
    }
    x[i] = n;
}
