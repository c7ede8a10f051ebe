// Ray tracing's types are refused by name.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error: kernel "k" has an instance_acceleration_structure parameter; ray tracing is not supported
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], instance_acceleration_structure scene [[buffer(1)]]) { x[0] = 1; }
