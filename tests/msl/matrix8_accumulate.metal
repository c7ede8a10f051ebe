// Multiply-accumulate over k, from a filled matrix, with a stride.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[128] = i % 7
// ARG 1: f32[128] = i % 5 - 2
// ARG 2: f32[64]
// EXPECT 2: f32[64] = 3 + sum(j, 0, 16, ((16 * idiv(i, 8) + j) % 7) * ((8 * j + i % 8) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8, 8>(3.0f);
    for (uint step = 0; step < 16; step += 8) {
        simdgroup_float8x8 ma, mb;
        simdgroup_load(ma, a + step, 16);
        simdgroup_load(mb, b + 8 * step, 8);
        simdgroup_multiply_accumulate(acc, ma, mb, acc);
    }
    simdgroup_store(acc, c, 8);
}
