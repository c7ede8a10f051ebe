// switch with fall-through and default, per lane.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = i % 6 == 0 ? 10 : i % 6 == 1 ? 120 : i % 6 == 2 ? 100 : i % 6 == 5 ? 7 : 1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int v = 0;
    switch (i % 6) {
    case 0:
        v = 10;
        break;
    case 1:
        v += 20;
    case 2:
        v += 100;
        break;
    default:
        v = 1;
        break;
    case 5:
        v = 7;
    }
    x[i] = v;
}
