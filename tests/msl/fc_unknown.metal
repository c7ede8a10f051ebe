// RUN: kernel=k threads=1 group=1
// CONST nothing: i32 = 4
// ARG 0: i32[1]
// EXPECT-ERROR: nothing
#include <metal_stdlib>
using namespace metal;

constant int n [[function_constant(0)]];
kernel void k(device int *x [[buffer(0)]]) { x[0] = is_function_constant_defined(n) ? n : 0; }
