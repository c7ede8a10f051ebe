// A float sum of values whose exact sum fits: the order does not matter.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[32] = rand(20) * 1024 - 512
// ARG 1: f32[1]
// EXPECT 1: f32[1] = sum(j, 0, 32, f32(rand(20, j) * 1024 - 512)) ; tol=1e-3
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_index_in_simdgroup]]) {
    float s = simd_sum(x[i]);
    if (i == 31)
        y[0] = s;
}
