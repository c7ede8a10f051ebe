// A switch whose cases continue and break the loop's rounds: a tiny machine.
// RUN: kernel=k threads=48 group=48
// ARG 0: i32[48]
// EXPECT 0: i32[48] = (i % 3 == 0 ? 5 : i % 3 == 1 ? 10 : 0)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int n = 0;
    for (int r = 0; r < 5; r++) {
        switch (i % 3) {
        case 0:
            n += 1;
            continue;
        case 1:
            n += 2;
            break;
        default:
            r = 5;
        }
    }
    x[i] = n;
}
