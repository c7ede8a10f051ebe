// Every comparison with NaN is false, except !=.
// RUN: kernel=k threads=3 group=3
// ARG 0: f32 [nan 1 2]
// ARG 1: f32 [1 1 1]
// ARG 2: u32[3]
// EXPECT 2: u32 [32 26 44]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device uint *y [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    y[i] = uint(a[i] < b[i]) + 2 * (a[i] <= b[i]) + 4 * (a[i] > b[i]) + 8 * (a[i] >= b[i]) + 16 * (a[i] == b[i]) +
           32 * (a[i] != b[i]);
}
