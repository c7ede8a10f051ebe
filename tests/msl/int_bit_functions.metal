// popcount, clz, ctz, reverse_bits.
// RUN: kernel=k threads=4 group=4
// ARG 0: u32 [0 1 2147483648 240]
// ARG 1: u32[16]
// EXPECT 1: u32 [0 32 32 0 1 31 0 2147483648 1 0 31 1 4 24 4 251658240]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint *x [[buffer(0)]], device uint4 *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = uint4(popcount(x[i]), clz(x[i]), ctz(x[i]), reverse_bits(x[i]));
}
