// A ballot as bits.
// RUN: kernel=k threads=32 group=32
// ARG 0: u64[2]
// EXPECT 0: u64 [1227133513 4294967295]
#include <metal_stdlib>
using namespace metal;

kernel void k(device ulong *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    simd_vote v = simd_ballot(i % 3 == 0);
    simd_vote a = simd_active_threads_mask();
    if (i == 0) {
        x[0] = static_cast<simd_vote::vote_t>(v);
        x[1] = static_cast<simd_vote::vote_t>(a);
    }
}
