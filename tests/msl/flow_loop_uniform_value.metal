// A value that is uniform inside the loop, but used after lanes left at different times.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = i * 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int j = 0, last = 0;
    while (true) {
        last = j * 2;
        if (j >= int(i))
            break;
        j++;
    }
    x[i] = last;
}
