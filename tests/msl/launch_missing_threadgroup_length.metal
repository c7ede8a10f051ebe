// RUN: kernel=k threads=4 group=4
// ARG 0: f32[4]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: scratch
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], threadgroup float *scratch [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    scratch[i] = i;
    x[i] = scratch[i];
}
