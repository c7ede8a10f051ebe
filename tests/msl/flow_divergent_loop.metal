// A loop with a trip count of its own in each lane.
// RUN: kernel=k threads=100 group=50
// ARG 0: i32[100]
// EXPECT 0: i32[100] = sum(j, 0, i % 13, j * j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int s = 0;
    for (uint j = 0; j < i % 13; j++)
        s += j * j;
    x[i] = s;
}
