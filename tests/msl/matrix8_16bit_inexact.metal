// Products of bfloat and of half whose sums are rounded: through a loop, with both sides turned in memory or not, sums
// that begin in memory, and are scaled between two products.
// RUN: kernel=k threads=32 group=32
// ARG 0: bf16[256] = 1 + i % 37 / 64
// ARG 1: bf16[256] = 1 + i % 29 / 128
// ARG 2: f16[256] = 1 + i % 37 / 64
// ARG 3: f16[256] = 1 + i % 29 / 128
// ARG 4: f32[256] = i < 64 || (i >= 128 && i < 192) ? i / 7 : 0
// EXPECT 4: f32[256] = i % 128 < 64 ? i / 21 + 4 * sum(j, 0, 16, (1 + (idiv(i % 64, 8) * 16 + j) % 37 / 64) * (1 + (j * 8 + i % 8) % 29 / 128)) / 3 : sum(j, 0, 16, (1 + (idiv(i % 64, 8) + 8 * j) % 37 / 64) * (1 + (j + 16 * (i % 8)) % 29 / 128)) ; rel=1e-6
#include <metal_stdlib>
using namespace metal;

template <typename T>
inline void multiply(device const T *a, device const T *b, device float *c) {
    simdgroup_float8x8 sum, turned(0.0f);
    simdgroup_matrix<T, 8, 8> left, right;
    simdgroup_load(sum, c, 8);
#pragma clang loop unroll(disable)
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(left, a + k, 16);
        simdgroup_load(right, b + k * 8, 8);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    sum.thread_elements() *= 1.0f / 3;
#pragma clang loop unroll(disable)
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(left, a + k, 16);
        simdgroup_load(right, b + k * 8, 8);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c, 8);
#pragma clang loop unroll(disable)
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(left, a + k * 8, 8, ulong2(0), true);
        simdgroup_load(right, b + k, 16, ulong2(0), true);
        simdgroup_multiply_accumulate(turned, left, right, turned);
    }
    simdgroup_store(turned, c + 64, 8);
}

kernel void k(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
              device const half *ha [[buffer(2)]], device const half *hb [[buffer(3)]],
              device float *c [[buffer(4)]]) {
    multiply(a, b, c);
    multiply(ha, hb, c + 128);
}
