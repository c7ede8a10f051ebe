// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: nothing_here.h
#include <metal_stdlib>
using namespace metal;

#include "nothing_here.h"
kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
