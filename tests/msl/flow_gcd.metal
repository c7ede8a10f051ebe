// Euclid, different in each lane, with values swapped around the loop.
// RUN: kernel=k threads=8 group=8
// ARG 0: u32 [12 100 17 81 1000 7 0 64]
// ARG 1: u32 [18 75 5 54 600 7 9 48]
// ARG 2: u32[8]
// EXPECT 2: u32 [6 25 1 27 200 7 9 16]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint *a [[buffer(0)]], device const uint *b [[buffer(1)]], device uint *c [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    uint x = a[i], y = b[i];
    while (y != 0) {
        uint t = x % y;
        x = y;
        y = t;
    }
    c[i] = x;
}
