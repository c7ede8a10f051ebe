// Functions whose result is exact.
// RUN: kernel=k threads=5 group=5
// ARG 0: f32 [2.5 -2.5 3.5 -0.4 7]
// ARG 1: f32[30]
// EXPECT 1: f32 [2 3 2 2 3 2.5 -3 -2 -2 -2 -3 2.5 3 4 3 4 4 3.5 -1 0 0 0 0 0.4 7 7 7 7 7 7]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[6 * i] = floor(x[i]);
    y[6 * i + 1] = ceil(x[i]);
    y[6 * i + 2] = trunc(x[i]);
    y[6 * i + 3] = rint(x[i]);
    y[6 * i + 4] = round(x[i]);
    y[6 * i + 5] = fabs(x[i]);
}
