// Two function constants of one type with one index have one value.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// CONST 3: i32 = 4
// EXPECT 0: i32 [20]
#include <metal_stdlib>
using namespace metal;

constant int a [[function_constant(3)]];
constant int b [[function_constant(3)]];
kernel void k(device int *x [[buffer(0)]]) { x[0] = a * b + a; }
