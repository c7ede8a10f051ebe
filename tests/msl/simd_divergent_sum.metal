// Only active lanes take part.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = i % 3 == 0 ? sum(j, 0, 11, 3 * j) : -1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int r = -1;
    if (i % 3 == 0)
        r = simd_sum(int(i));
    y[i] = r;
}
