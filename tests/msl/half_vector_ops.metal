// half4 arithmetic and dot.
// RUN: kernel=k threads=1 group=1
// ARG 0: f16 [1 2 3 4 0.5 0.25 2 1]
// ARG 1: f16[5]
// EXPECT 1: f16 [0.5 0.5 6 4 11]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half4 *x [[buffer(0)]], device half *y [[buffer(1)]]) {
    half4 p = x[0] * x[1];
    y[0] = p.x;
    y[1] = p.y;
    y[2] = p.z;
    y[3] = p.w;
    y[4] = dot(x[0], x[1]);
}
