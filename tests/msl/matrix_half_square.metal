// Matrices of half.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[4]
// EXPECT 0: f32 [2 4 6 9]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(0)]]) {
    half4x4 twice = half4x4(2.0h);
    half4 v = twice * half4(1, 2, 3, 4);
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
    half2x2 m = half2x2(half2(4, 1), half2(3, 3));
    out[3] = determinant(m);
}
