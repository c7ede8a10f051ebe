// A vector constant.
// RUN: kernel=k threads=1 group=1
// CONST v: u32 [3 4]
// ARG 0: u32[2]
// EXPECT 0: u32 [4 3]
#include <metal_stdlib>
using namespace metal;

constant uint2 v [[function_constant(0)]];
kernel void k(device uint2 *x [[buffer(0)]]) { x[0] = v.yx; }
