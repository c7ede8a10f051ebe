// A return from inside a loop, at a different round in each lane.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64] = -1
// EXPECT 0: i32[64] = i % 10 < 8 ? 100 + i % 10 : 500
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    for (uint j = 0; j < 8; j++) {
        if (j == i % 10) {
            x[i] = 100 + j;
            return;
        }
    }
    x[i] = 500;
}
