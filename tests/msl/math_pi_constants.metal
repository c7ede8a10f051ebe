// RUN: kernel=k threads=1 group=1
// ARG 0: f32[4]
// EXPECT 0: f32 [3.14159274 2.71828175 1.41421354 inf]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    x[0] = M_PI_F;
    x[1] = M_E_F;
    x[2] = M_SQRT2_F;
    x[3] = INFINITY;
}
