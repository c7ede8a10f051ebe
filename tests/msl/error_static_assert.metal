// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: four bytes
#include <metal_stdlib>
using namespace metal;

static_assert(sizeof(half) == 4, "half should have four bytes");
kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
