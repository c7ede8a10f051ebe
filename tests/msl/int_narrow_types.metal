// 8- and 16-bit memory; arithmetic in int, stored with wrap-around.
// RUN: kernel=k threads=4 group=4
// ARG 0: i8 [100 -100 127 -128]
// ARG 1: u16 [65535 1 2 3]
// EXPECT 0: i8 [-56 56 -2 0]
// EXPECT 1: u16 [0 2 3 4]
#include <metal_stdlib>
using namespace metal;

kernel void k(device char *x [[buffer(0)]], device ushort *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * 2;
    y[i]++;
}
