// Program-scope constants: scalars, a table, and constexpr ones.
// RUN: kernel=k threads=5 group=5
// ARG 0: f32[5]
// EXPECT 0: f32 [3.5 5.5 9.5 17.5 33.5]
#include <metal_stdlib>
using namespace metal;

constant float offset = 1.5;
constant float table[5] = {1, 2, 4, 8, 16};
constexpr constant int factor = 2;
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = table[i] * factor + offset;
}
