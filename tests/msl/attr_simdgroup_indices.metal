// Lane, SIMD-group and their number; the last SIMD-group is partial.
// RUN: kernel=k threads=72 group=72
// ARG 0: u32[72]
// EXPECT 0: u32[72] = (i % 32) + 100 * idiv(i, 32) + 1000 * 3 + 10000 * 32
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
              uint n [[simdgroups_per_threadgroup]], uint w [[threads_per_simdgroup]]) {
    x[i] = lane + 100 * s + 1000 * n + 10000 * w;
}
