// Minimum and maximum of floats with infinities.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[2]
// EXPECT 0: f32 [inf -inf]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *y [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    float v = i == 3 ? INFINITY : i == 4 ? -INFINITY : float(i);
    float a = simd_max(v), b = simd_min(v);
    if (i == 0) {
        y[0] = a;
        y[1] = b;
    }
}
