// Vector constants that are computed from function constants.
// RUN: kernel=k threads=4 group=4
// CONST FC: u32 = 5
// ARG 0: u32[4]
// ARG 1: f32[4]
// EXPECT 0: u32 [10 6 6 7]
// EXPECT 1: f32 [2.5 2.5 5 1]
#include <metal_stdlib>
using namespace metal;

constant uint FC [[function_constant(0)]];
constant uint NEXT = FC + 1;
constant uint2 PAIR = uint2(FC, 3) * 2;
constant uint2 LATER = {NEXT, NEXT + 1};
constant float4 FOUR = float4(float2(FC * 0.5f), FC, 1);

kernel void k(device uint *x, device float *y, uint i [[thread_position_in_grid]]) {
    x[i] = i < 2 ? PAIR[i] : LATER[i - 2];
    y[i] = FOUR[i];
}
