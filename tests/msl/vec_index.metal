// Components by a constant and by a varying index.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32 [10 20 30 40]
// ARG 1: i32[4]
// EXPECT 1: i32 [40 30 20 10]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int4 *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int4 v = x[0];
    y[i] = v[3 - i];
}
