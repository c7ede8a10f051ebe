// clamp, saturate, mix, step, smoothstep, sign.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[10]
// EXPECT 0: f32 [1 0 1 2.5 0 1 0.5 -1 0 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    x[0] = clamp(5.0f, 0.0f, 1.0f);
    x[1] = saturate(-2.0f);
    x[2] = saturate(2.0f);
    x[3] = mix(2.0f, 4.0f, 0.25f);
    x[4] = step(2.0f, 1.0f);
    x[5] = step(2.0f, 2.0f);
    x[6] = smoothstep(0.0f, 2.0f, 1.0f);
    x[7] = sign(-3.0f);
    x[8] = sign(0.0f);
    x[9] = sign(3.0f);
}
