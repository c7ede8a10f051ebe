// Constants computed from function constants.
// RUN: kernel=k threads=4 group=4
// CONST n: i32 = 6
// ARG 0: i32[4]
// EXPECT 0: i32 [13 13 13 13]
// RUN: kernel=k threads=4 group=4
// CONST n: i32 = 2
// ARG 0: i32[4]
// EXPECT 0: i32 [-1 -1 -1 -1]
#include <metal_stdlib>
using namespace metal;

constant int n [[function_constant(0)]];
constant int twice = n * 2;
constant bool large = twice > 10;
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = large ? twice + 1 : -1; }
