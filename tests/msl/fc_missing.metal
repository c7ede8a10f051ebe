// A kernel that needs a constant cannot be made without it.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-ERROR: needed
#include <metal_stdlib>
using namespace metal;

constant int needed [[function_constant(4)]];
kernel void k(device int *x [[buffer(0)]]) { x[0] = needed; }
