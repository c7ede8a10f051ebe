// asin, acos, atan, atan2.
// RUN: kernel=k threads=200 group=50
// ARG 0: f32[200] = (i - 100) / 100
// ARG 1: f32[200]
// ARG 2: f32[200]
// ARG 3: f32[200]
// ARG 4: f32[200]
// EXPECT 1: f32[200] = asin(f32((i - 100) / 100)) ; ulp=4 tol=1e-9
// EXPECT 2: f32[200] = acos(f32((i - 100) / 100)) ; ulp=4
// EXPECT 3: f32[200] = atan(f32((i - 100) / 100)) ; ulp=5
// EXPECT 4: f32[200] = atan2(f32((i - 100) / 100), -0.5) ; ulp=6
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *a [[buffer(1)]], device float *b [[buffer(2)]],
              device float *c [[buffer(3)]], device float *d [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    a[i] = precise::asin(x[i]);
    b[i] = precise::acos(x[i]);
    c[i] = precise::atan(x[i]);
    d[i] = precise::atan2(x[i], -0.5f);
}
