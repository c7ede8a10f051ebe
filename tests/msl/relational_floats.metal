// isnan, isinf, isfinite, isnormal, signbit.
// RUN: kernel=k threads=6 group=6
// ARG 0: f32 [1 -0.0 inf -inf nan 1e-40]
// ARG 1: u32[6]
// EXPECT 1: u32 [12 20 2 18 1 4]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float v = x[i];
    y[i] = uint(isnan(v)) + 2 * isinf(v) + 4 * isfinite(v) + 8 * isnormal(v) + 16 * (!isnan(v) && signbit(v));
}
