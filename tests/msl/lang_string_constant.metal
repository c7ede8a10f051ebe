// A string literal in the constant space.
// RUN: kernel=k threads=5 group=5
// ARG 0: u8[5]
// EXPECT 0: u8 [109 101 116 97 108]
#include <metal_stdlib>
using namespace metal;

constant char text[] = "metal";
kernel void k(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = text[i]; }
