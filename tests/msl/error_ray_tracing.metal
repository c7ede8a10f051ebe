// Ray tracing is not there: the header is refused by name.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: 'metal_raytracing' file not found; ray tracing is not supported
#include <metal_raytracing>
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
