// Function constants by name: a bool, an int and a float.
// RUN: kernel=k threads=2 group=2
// CONST flag: bool = 1
// CONST n: i32 = 5
// CONST f: f32 = 0.5
// ARG 0: f32[2]
// EXPECT 0: f32 [5.5 5.5]
// RUN: kernel=k threads=2 group=2
// CONST flag: bool = 0
// CONST n: i32 = 5
// CONST f: f32 = 0.5
// ARG 0: f32[2]
// EXPECT 0: f32 [4.5 4.5]
#include <metal_stdlib>
using namespace metal;

constant bool flag [[function_constant(0)]];
constant int n [[function_constant(1)]];
constant float f [[function_constant(2)]];
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = flag ? n + f : n - f; }
