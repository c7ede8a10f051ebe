// 64-bit arithmetic, multiplication, division and shifts.
// RUN: kernel=k threads=4 group=4
// ARG 0: i64 [1 10 1000000007 -3]
// ARG 1: i64[4]
// EXPECT 1: i64[4] = idiv((i == 0 ? 1 : i == 1 ? 10 : i == 2 ? 1000000007 : -3) * 4000000000, 7) + 2199023255552 * i
#include <metal_stdlib>
using namespace metal;

kernel void k(device const long *x [[buffer(0)]], device long *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 4000000000L / 7 + (long(i) << 41);
}
