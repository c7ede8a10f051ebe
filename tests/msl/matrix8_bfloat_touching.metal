// bfloat with two rows of the right side in one vector (a stride of 16, and of 8), a right side that
// is transposed in memory, and products of float in the same block.
// RUN: kernel=k threads=32 group=32
// ARG 0: bf16[128] = i % 7 - 3
// ARG 1: bf16[256] = i % 5 - 2
// ARG 2: f32[64] = i % 3
// ARG 3: f32[384]
// EXPECT 3: f32[384] = i < 128 ? sum(j, 0, 16, ((16 * idiv(i, 16) + j) % 7 - 3) * ((16 * j + i % 16) % 5 - 2)) : i < 192 ? sum(j, 0, 8, ((16 * (idiv(i, 8) - 16) + j) % 7 - 3) * ((8 * j + i % 8) % 5 - 2)) : i < 256 ? sum(j, 0, 8, ((16 * (idiv(i, 8) - 24) + j) % 7 - 3) * ((16 * (i % 8) + j) % 5 - 2)) : i < 320 ? sum(j, 0, 8, ((16 * (idiv(i, 8) - 32) + j) % 7 - 3) * ((8 * j + i % 8) % 3)) : sum(j, 0, 8, ((8 * (idiv(i, 8) - 40) + j) % 3) * ((16 * j + i % 8) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
              device const float *f [[buffer(2)]], device float *c [[buffer(3)]]) {
    simdgroup_float8x8 sum[2], narrow(0.0f), turned(0.0f), mixed[2], numbers;
    simdgroup_bfloat8x8 left, right[2];
    sum[0] = sum[1] = mixed[0] = mixed[1] = simdgroup_float8x8(0.0f);
#pragma clang loop unroll(disable)
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(left, a + k, 16);
        for (uint j = 0; j < 2; j++)
            simdgroup_load(right[j], b + k * 16 + 8 * j, 16);
        for (uint j = 0; j < 2; j++)
            simdgroup_multiply_accumulate(sum[j], left, right[j], sum[j]);
    }
    for (uint j = 0; j < 2; j++)
        simdgroup_store(sum[j], c + 8 * j, 16);
    simdgroup_load(left, a, 16);
    simdgroup_load(right[0], b, 8);
    simdgroup_multiply_accumulate(narrow, left, right[0], narrow);
    simdgroup_store(narrow, c + 128, 8);
    simdgroup_load(right[0], b, 16, ulong2(0), true);
    simdgroup_multiply_accumulate(turned, left, right[0], turned);
    simdgroup_store(turned, c + 192, 8);
    simdgroup_load(numbers, f, 8);
    simdgroup_load(right[0], b, 16);
    simdgroup_multiply_accumulate(mixed[0], left, numbers, mixed[0]);
    simdgroup_multiply_accumulate(mixed[1], numbers, right[0], mixed[1]);
    simdgroup_store(mixed[0], c + 256, 8);
    simdgroup_store(mixed[1], c + 320, 8);
}
