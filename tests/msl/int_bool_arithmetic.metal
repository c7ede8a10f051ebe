// Comparisons as numbers; logical operators.
// RUN: kernel=k threads=8 group=8
// ARG 0: i32[8]
// EXPECT 0: i32[8] = (i > 2 ? 1 : 0) + 10 * (i > 2 && i < 6 ? 1 : 0) + 100 * (i < 1 || i > 6 ? 1 : 0)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = (i > 2) + 10 * (i > 2 && i < 6) + 100 * (i < 1 || i > 6);
}
