// A kernel is not a function that other kernels can call.
// RUN: kernel=outer threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_kernel_called.metal:10:50: error: 'inner': a kernel cannot be called like a function
#include <metal_stdlib>
using namespace metal;

kernel void inner(device int *x [[buffer(0)]]) { x[0] = 1; }
kernel void outer(device int *x [[buffer(0)]]) { inner(x); }
