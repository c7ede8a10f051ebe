// Explicit indices need not follow the order of the parameters.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32 [10 20 30 40]
// ARG 2: f32[4]
// EXPECT 2: f32 [9 18 27 36]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(2)]], device const float *b [[buffer(1)]],
              device const float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = b[i] - a[i];
}
