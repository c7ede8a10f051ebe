// Prefix sums and products.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// ARG 1: i32[32]
// ARG 2: i32[32]
// EXPECT 0: i32[32] = sum(j, 0, i + 1, j)
// EXPECT 1: i32[32] = sum(j, 0, i, j)
// EXPECT 2: i32[32] = i < 10 ? pow(2, i + 1) : 1024
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *a [[buffer(0)]], device int *b [[buffer(1)]], device int *c [[buffer(2)]],
              uint i [[thread_index_in_simdgroup]]) {
    a[i] = simd_prefix_inclusive_sum(int(i));
    b[i] = simd_prefix_exclusive_sum(int(i));
    c[i] = simd_prefix_inclusive_product(i < 10 ? 2 : 1);
}
