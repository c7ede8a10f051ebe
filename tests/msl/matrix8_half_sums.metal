// Sums kept as half through a loop, of half tiles; the right side is transposed in memory.
// RUN: kernel=k threads=32 group=32
// ARG 0: f16[192] = i % 3 - 1
// ARG 1: f16[192] = i % 5 - 2
// ARG 2: f16[64]
// EXPECT 2: f16[64] = sum(t, 0, 3, sum(j, 0, 8, ((64 * t + 8 * idiv(i, 8) + j) % 3 - 1) * ((64 * t + 8 * (i % 8) + j) % 5 - 2)))
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]],
              device half *c [[buffer(2)]]) {
    simdgroup_half8x8 sum(0.0h);
#pragma clang loop unroll(disable)
    for (uint t = 0; t < 3; t++) {
        simdgroup_half8x8 left, right;
        simdgroup_load(left, a + 64 * t, 8);
        simdgroup_load(right, b + 64 * t, 8, ulong2(0), true);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c, 8);
}
