// RUN: kernel=k threads=4 group=4
// ARG 0: f16 [1 2 nan -0.0]
// ARG 1: u32[4]
// EXPECT 1: u32 [1 0 8 5]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    half h = x[i];
    y[i] = uint(h < half(1.5)) + 4 * (h == half(0)) + 8 * isnan(h);
}
