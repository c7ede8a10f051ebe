// RUN: kernel=k threads=16 group=16
// ARG 0: i32[16]
// ARG 1: i32[16]
// EXPECT 0: i32[16] = 4 * idiv(i, 4) + 3 - i % 4
// EXPECT 1: i32[16] = 4 * idiv(i, 4) + (i % 4) * (i % 4 + 1) / 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *a [[buffer(0)]], device int *b [[buffer(1)]], uint i [[thread_index_in_simdgroup]]) {
    a[i] = quad_shuffle(int(i), 3 - i % 4);
    b[i] = 4 * (i / 4) + quad_prefix_inclusive_sum(int(i % 4));
}
