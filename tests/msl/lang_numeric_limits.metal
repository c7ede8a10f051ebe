// RUN: kernel=k threads=1 group=1
// ARG 0: f32[4]
// EXPECT 0: f32 [3.40282347e38 65504 255 -128]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    x[0] = numeric_limits<float>::max();
    x[1] = numeric_limits<half>::max();
    x[2] = numeric_limits<uchar>::max();
    x[3] = numeric_limits<char>::min();
}
