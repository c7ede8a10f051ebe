// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: unknown_thing
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) { x[0] = unknown_thing(1); }
