// A buffer smaller than one element of the type.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[2]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 16
// EXPECT-ERROR: 8
#include <metal_stdlib>
using namespace metal;

kernel void k(device float4 *x [[buffer(0)]]) { x[0] = 1; }
