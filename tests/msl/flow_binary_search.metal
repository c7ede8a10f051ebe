// A binary search per lane: loop-carried values that diverge.
// RUN: kernel=k threads=50 group=50
// ARG 0: i32[100] = i * 3
// ARG 1: i32[50]
// EXPECT 1: i32[50] = min(100, ceil(i * 7 / 3))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int low = 0, high = 100, wanted = i * 7;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    y[i] = low;
}
