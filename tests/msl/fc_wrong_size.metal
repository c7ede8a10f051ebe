// A value of the wrong size names both sizes.
// RUN: kernel=k threads=1 group=1
// CONST n: i64 = 4
// ARG 0: i32[1]
// EXPECT-ERROR: 8
// EXPECT-ERROR: 4
// EXPECT-ERROR: n
#include <metal_stdlib>
using namespace metal;

constant int n [[function_constant(0)]];
kernel void k(device int *x [[buffer(0)]]) { x[0] = n; }
