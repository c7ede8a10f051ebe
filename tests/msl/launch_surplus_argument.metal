// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// ARG 3: f32[1]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 3
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *first [[buffer(0)]]) { first[0] = 1; }
