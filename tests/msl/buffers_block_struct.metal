// A quantised block of a half scale and bytes, as libraries lay it out.
// RUN: kernel=k threads=2 group=2
// ARG 0: hex = 0038 01 02 03 04 0040 05 06 07 08
// ARG 1: f32[2]
// EXPECT 1: f32 [5 52]
#include <metal_stdlib>
using namespace metal;

struct Block {
    half d;
    uchar q[4];
};
kernel void k(device const Block *b [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float s = 0;
    for (int j = 0; j < 4; j++)
        s += b[i].q[j];
    y[i] = s * b[i].d;
}
