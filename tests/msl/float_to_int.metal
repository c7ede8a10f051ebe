// Conversions of floats to integers truncate; large ones fit their type.
// RUN: kernel=k threads=6 group=6
// ARG 0: f32 [0.9 -0.9 1e9 -1e9 255.7 3e9]
// ARG 1: i32[6]
// ARG 2: u32[6]
// EXPECT 1: i32 [0 0 1000000000 -1000000000 255 0]
// EXPECT 2: u32 [0 0 1000000000 0 255 3000000000]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device int *y [[buffer(1)]], device uint *z [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    y[i] = x[i] < 2e9f ? int(x[i]) : 0;
    z[i] = x[i] > 0 ? uint(x[i]) : 0;
}
