// Both in one loop, with work after them.
// RUN: kernel=k threads=64 group=32
// ARG 0: i32[64]
// EXPECT 0: i32[64] = sum(j, 0, min(i % 17, 15), j % 4 == i % 4 ? 0 : j + 1)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n = 0;
    uint j = 0;
    while (true) {
        if (j >= i % 17 || j >= 15)
            break;
        uint current = j++;
        if (current % 4 == i % 4)
            continue;
        n += current + 1;
    }
    x[i] = n;
}
