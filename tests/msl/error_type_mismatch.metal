// An address space cannot be dropped.
// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: address space
#include <metal_stdlib>
using namespace metal;

void set(threadgroup float *p) { *p = 1; }
kernel void k(device float *x [[buffer(0)]]) { set(x); }
