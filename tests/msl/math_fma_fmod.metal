// fma is exact before its rounding; fmod, fract, ldexp, frexp, modf, copysign.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[10]
// EXPECT 0: f32 [-1.4210855e-14 1.5 -1.5 0.25 12 0.75 3 -2 3 0.5]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    volatile float a = 1.00000011920929f, b = 0.99999988079071f;
    int e;
    float whole;
    x[0] = fma(float(a), float(b), -1.0f);
    x[1] = fmod(7.5f, 2.0f);
    x[2] = fmod(-7.5f, 2.0f);
    x[3] = fract(2.25f);
    x[4] = ldexp(1.5f, 3);
    x[5] = frexp(6.0f, e);
    x[6] = e;
    x[7] = copysign(2.0f, -1.0f);
    x[9] = modf(3.5f, whole);
    x[8] = whole;
}
