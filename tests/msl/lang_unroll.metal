// Unroll pragmas, with and without a count and by a macro.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32[4]
// EXPECT 0: i32 [28 32 36 40]
#include <metal_stdlib>
using namespace metal;

#define FULL 8
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int s = 0;
#pragma unroll
    for (int j = 0; j < 4; j++)
        s += j;
#pragma unroll(FULL)
    for (int j = 4; j < 8; j++)
        s += j;
#pragma clang loop unroll(disable)
    for (uint j = 0; j < 4; j++)
        s += i;
    x[i] = s;
}
