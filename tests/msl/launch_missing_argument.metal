// A missing argument is named.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: second
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *first [[buffer(0)]], device float *second [[buffer(1)]]) { first[0] = second[0]; }
