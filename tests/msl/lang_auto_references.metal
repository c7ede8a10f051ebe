// auto, auto references and range-like loops over arrays.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32 [1 2 3 4]
// EXPECT 0: i32 [10 20 30 40]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    auto &v = x[i];
    int parts[] = {1, 2, 3, 4};
    int total = 0;
    for (auto p : parts)
        total += p;
    v *= total;
}
