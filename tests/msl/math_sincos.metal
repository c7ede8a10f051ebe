// sincos gives both; reciprocal and exp10.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[64] = rand(30) * 6 - 3
// ARG 1: f32[64]
// ARG 2: f32[64]
// ARG 3: f32[64]
// EXPECT 1: f32[64] = sin(f32(rand(30) * 6 - 3)) ; ulp=4 tol=1e-9
// EXPECT 2: f32[64] = cos(f32(rand(30) * 6 - 3)) ; ulp=4 tol=1e-9
// EXPECT 3: f32[64] = pow(10, f32(rand(30) * 6 - 3)) ; ulp=5
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *s [[buffer(1)]], device float *c [[buffer(2)]],
              device float *e [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    float co;
    s[i] = precise::sincos(x[i], co);
    c[i] = co;
    e[i] = precise::exp10(x[i]);
}
