// Nested divergent branches.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = i % 2 ? (i % 3 ? 1 : 2) : (i % 5 ? 3 : 4)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 2) {
        if (i % 3)
            x[i] = 1;
        else
            x[i] = 2;
    } else {
        if (i % 5)
            x[i] = 3;
        else
            x[i] = 4;
    }
}
