// RUN: kernel=k threads=1 group=1
// ARG 0+2: f32 [1]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 2
// EXPECT-ERROR: offset
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
