// RUN: kernel=k threads=2048 group=2048
// ARG 0: f32[2048]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 2048
// EXPECT-ERROR: 1024
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 1; }
