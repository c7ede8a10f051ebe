// Long divergent loops.
// RUN: kernel=k threads=28 group=28
// ARG 0: u32[28]
// EXPECT 0: u32 [0 0 1 7 2 5 8 16 3 19 6 14 9 9 17 17 4 12 20 20 7 7 15 15 10 23 10 111]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint n = i, steps = 0;
    while (n > 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    x[i] = steps;
}
