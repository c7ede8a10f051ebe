// A kernel returns nothing.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_kernel_returns.metal:9:12: error: 'k': a kernel returns void, but this one returns a value
#include <metal_stdlib>
using namespace metal;

kernel int k(device int *x [[buffer(0)]]) { return x[0]; }
