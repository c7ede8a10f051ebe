// thread_elements() between products: a fused activation, then another product.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = idiv(i, 8) == i % 8 ? 2 : 0
// ARG 1: f32[64] = i - 32
// ARG 2: f32[64]
// EXPECT 2: f32[64] = 2 * max(0, 2 * (i - 32))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    simdgroup_float8x8 ma, mb, t, r;
    simdgroup_load(ma, a, 8);
    simdgroup_load(mb, b, 8);
    simdgroup_multiply(t, ma, mb);
    for (int e = 0; e < 2; e++)
        t.thread_elements()[e] = max(t.thread_elements()[e], 0.0f);
    simdgroup_multiply(r, ma, t);
    simdgroup_store(r, c, 8);
}
