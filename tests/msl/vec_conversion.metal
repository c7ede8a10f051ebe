// Conversions between vector types truncate towards zero.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[4]
// ARG 1: f32[4]
// ARG 2: u8[4]
// EXPECT 0: i32 [1 -1 2 -2]
// EXPECT 1: f32 [1 -1 2 -2]
// EXPECT 2: u8 [1 2 3 255]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int4 *x [[buffer(0)]], device float4 *y [[buffer(1)]], device uchar4 *z [[buffer(2)]]) {
    float4 f(1.9, -1.9, 2.5, -2.5);
    x[0] = int4(f);
    y[0] = float4(int4(f));
    z[0] = uchar4(uint4(257, 258, 259, 511));
}
