// RUN: kernel=nothing threads=1 group=1
// EXPECT-STATUS: INGOT_NOT_FOUND
// EXPECT-ERROR: nothing
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
