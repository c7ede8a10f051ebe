// Without any index, parameters are numbered in order; built-ins do not count.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32 [10 20 30 40]
// ARG 2: f32[4]
// ARG 3: f32 = 0.5
// EXPECT 2: f32 [6 12 18 24]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a, device const float *b, uint i [[thread_position_in_grid]],
              device float *out, constant float &s) {
    out[i] = 2 * s * a[i] + s * b[i];
}
