// simd_prefix_exclusive_product: the product of the lanes below.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[32]
// EXPECT 0: f32[32] = pow(2, min(i, 5))
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = simd_prefix_exclusive_product(i < 5 ? 2.0f : 1.0f);
}
