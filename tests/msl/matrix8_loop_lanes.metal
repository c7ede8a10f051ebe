// Sums that a loop scales lane by lane between its products, as online softmax does.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[256] = i % 3 - 1
// ARG 1: f32[256] = i % 5 - 2
// ARG 2: f32[64]
// EXPECT 2: f32[64] = sum(t, 0, 4, pow(0.5, 3 - t) * sum(j, 0, 8, ((64 * t + 8 * idiv(i, 8) + j) % 3 - 1) * ((64 * t + 8 * j + i % 8) % 5 - 2)))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
              device float *c [[buffer(2)]]) {
    simdgroup_float8x8 sum(0.0f);
#pragma clang loop unroll(disable)
    for (uint t = 0; t < 4; t++) {
        simdgroup_float8x8 left, right;
        simdgroup_load(left, a + 64 * t, 8);
        simdgroup_load(right, b + 64 * t, 8);
        sum.thread_elements() *= 0.5f;
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c, 8);
}
