// Sums, broadcasts and shuffles within four lanes.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// ARG 1: i32[32]
// ARG 2: i32[32]
// ARG 3: i32[32]
// EXPECT 0: i32[32] = 16 * idiv(i, 4) + 6
// EXPECT 1: i32[32] = 4 * idiv(i, 4) + 2
// EXPECT 2: i32[32] = i ^ 1
// EXPECT 3: i32[32] = 4 * idiv(i, 4) + 3
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *a [[buffer(0)]], device int *b [[buffer(1)]], device int *c [[buffer(2)]],
              device int *d [[buffer(3)]], uint i [[thread_index_in_simdgroup]]) {
    a[i] = quad_sum(int(i));
    b[i] = quad_broadcast(int(i), 2);
    c[i] = quad_shuffle_xor(int(i), 1);
    d[i] = quad_max(int(i));
}
