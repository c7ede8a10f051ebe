// A while loop around a switch, each lane in its own state.
// RUN: kernel=k threads=40 group=40
// ARG 0: i32[40]
// EXPECT 0: i32[40] = i % 4 == 0 ? 111 : i % 4 == 1 ? 110 : i % 4 == 2 ? 100 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int state = i % 4, n = 0;
    while (state != 3) {
        switch (state) {
        case 0:
            n += 1;
            state = 1;
            break;
        case 1:
            n += 10;
            state = 2;
            break;
        default:
            n += 100;
            state = 3;
        }
    }
    x[i] = n;
}
