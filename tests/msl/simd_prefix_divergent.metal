// A prefix sum over the active lanes numbers them: stream compaction.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = -1
// EXPECT 0: i32[32] = i < 8 ? 4 * i + 1 : -1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    if (i % 4 == 1)
        x[simd_prefix_exclusive_sum(1)] = i;
}
