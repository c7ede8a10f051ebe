// Names that Metal does not have stay free for kernels.
// RUN: kernel=k threads=2 group=2
// ARG 0: f32[2]
// EXPECT 0: f32 [3 6]
#include <metal_stdlib>
using namespace metal;

float erf(float x) { return x + 1; }
float log1p(float x) { return x * 2; }
float expm1(float x) { return x - 1; }
float hypot(float x, float y) { return x + y; }
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = hypot(erf(float(i)), log1p(expm1(float(i) + 2)));
}
