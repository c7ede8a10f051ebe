// The exponential family within the specification's 4 ULP.
// RUN: kernel=k threads=256 group=64
// ARG 0: f32[256] = rand(6) * 40 - 20
// ARG 1: f32[256]
// ARG 2: f32[256]
// ARG 3: f32[256]
// ARG 4: f32[256]
// EXPECT 1: f32[256] = exp(f32(rand(6) * 40 - 20)) ; ulp=4
// EXPECT 2: f32[256] = exp2(f32(rand(6) * 40 - 20)) ; ulp=4
// EXPECT 3: f32[256] = log(abs(f32(rand(6) * 40 - 20))) ; ulp=4
// EXPECT 4: f32[256] = log2(abs(f32(rand(6) * 40 - 20))) ; ulp=4
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *a [[buffer(1)]], device float *b [[buffer(2)]],
              device float *c [[buffer(3)]], device float *d [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    a[i] = exp(x[i]);
    b[i] = exp2(x[i]);
    c[i] = precise::log(fabs(x[i]));
    d[i] = precise::log2(fabs(x[i]));
}
