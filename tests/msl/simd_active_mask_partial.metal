// The active mask of a partial SIMD-group and inside a branch.
// RUN: kernel=k threads=20 group=20
// ARG 0: u64[2]
// EXPECT 0: u64 [1048575 349525]
#include <metal_stdlib>
using namespace metal;

kernel void k(device ulong *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    x[0] = ulong(simd_vote::vote_t(simd_active_threads_mask()));
    if (i % 2 == 0)
        x[1] = ulong(simd_vote::vote_t(simd_active_threads_mask()));
}
