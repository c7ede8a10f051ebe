// A grid of 3 x 3 products that share their tiles, twice in one block of code.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[384] = i % 7 - 3
// ARG 1: f32[384] = i % 5 - 2
// ARG 2: f32[576]
// EXPECT 2: f32[576] = sum(j, 0, 16, ((16 * idiv(i, 24) + j) % 7 - 3) * ((24 * j + i % 24) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
              device float *c [[buffer(2)]]) {
    simdgroup_float8x8 sum[3][3];
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
#pragma unroll
    for (uint step = 0; step < 16; step += 8) {
        simdgroup_float8x8 left[3], right[3];
        for (uint i = 0; i < 3; i++) {
            simdgroup_load(left[i], a + 8 * i * 16 + step, 16);
            simdgroup_load(right[i], b + step * 24 + 8 * i, 24);
        }
        for (uint i = 0; i < 3; i++)
            for (uint j = 0; j < 3; j++)
                simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
    }
    for (uint i = 0; i < 3; i++)
        for (uint j = 0; j < 3; j++)
            simdgroup_store(sum[i][j], c + 8 * i * 24 + 8 * j, 24);
}
