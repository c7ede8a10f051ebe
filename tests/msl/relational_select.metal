// select with scalars and with NaN; min and max ignore NaN.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[4]
// EXPECT 0: f32 [2 1 3 3]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    x[0] = select(1.0f, 2.0f, true);
    x[1] = select(1.0f, 2.0f, false);
    volatile float n = NAN, three = 3;
    x[2] = fmin(float(n), float(three));
    x[3] = fmax(float(three), float(n));
}
