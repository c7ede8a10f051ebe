// Arrays of tiles in a loop over two SIMD-groups.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[256] = i % 9
// ARG 1: f32[256] = i % 4
// ARG 2: f32[256]
// EXPECT 2: f32[256] = sum(j, 0, 16, ((16 * idiv(i, 16) + j) % 9) * ((16 * j + i % 16) % 4))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
              uint s [[simdgroup_index_in_threadgroup]]) {
    simdgroup_float8x8 acc[2];
    for (int j = 0; j < 2; j++)
        acc[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (int step = 0; step < 16; step += 8) {
        simdgroup_float8x8 ma, mb[2];
        simdgroup_load(ma, a + 8 * s * 16 + step, 16);
        for (int j = 0; j < 2; j++) {
            simdgroup_load(mb[j], b + step * 16 + 8 * j, 16);
            simdgroup_multiply_accumulate(acc[j], ma, mb[j], acc[j]);
        }
    }
    for (int j = 0; j < 2; j++)
        simdgroup_store(acc[j], c + 8 * s * 16 + 8 * j, 16);
}
