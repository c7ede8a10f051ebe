// #error ends the compilation with its text.
// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: not today
#include <metal_stdlib>
using namespace metal;

#error not today
kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
