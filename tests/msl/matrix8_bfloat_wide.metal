// 2 x 7 products of bfloat in a loop: an odd number of columns, more than the registers hold; the
// left side is transposed in memory, the right side's stride is only known at run time.
// RUN: kernel=k threads=32 group=32
// ARG 0: bf16[384] = i % 7 - 3
// ARG 1: bf16[1344] = i % 5 - 2
// ARG 2: f32[896]
// ARG 3: u32[1] = 56
// EXPECT 2: f32[896] = sum(j, 0, 24, ((16 * j + idiv(i, 56)) % 7 - 3) * ((56 * j + i % 56) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
              device float *c [[buffer(2)]], constant uint &stride [[buffer(3)]]) {
    simdgroup_float8x8 sum[2][7];
    for (uint i = 0; i < 2; i++)
        for (uint j = 0; j < 7; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
#pragma clang loop unroll(disable)
    for (uint k = 0; k < 24; k += 8) {
        simdgroup_bfloat8x8 left[2], right[7];
        for (uint i = 0; i < 2; i++)
            simdgroup_load(left[i], a + k * 16 + 8 * i, 16, ulong2(0), true);
        for (uint j = 0; j < 7; j++)
            simdgroup_load(right[j], b + k * stride + 8 * j, stride);
        for (uint i = 0; i < 2; i++)
            for (uint j = 0; j < 7; j++)
                simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
    }
    for (uint i = 0; i < 2; i++)
        for (uint j = 0; j < 7; j++)
            simdgroup_store(sum[i][j], c + 8 * i * 56 + 8 * j, 56);
}
