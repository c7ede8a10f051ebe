// An atomic operation of some lanes inside a loop does not part them from the others afterwards.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// ARG 1: u32[2] = 0
// EXPECT 0: u32[64] = 3 * 32 + (i % 32 < 3 ? 1 : 0)
// EXPECT 1: u32[2] = i == 0 ? 6 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], device atomic_uint *count [[buffer(1)]],
              uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint found = 0;
    for (uint j = 0; j < 3; j++) {
        if (lane == j) {
            atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
            found++;
        }
        found += popcount(uint(ulong(simd_vote::vote_t(simd_ballot(true)))));
    }
    x[i] = found;
}
