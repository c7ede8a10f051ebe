// SIMD-groups run through the linear index of a 2-D group.
// RUN: kernel=k threads=10,8 group=10,8
// ARG 0: u32[80]
// EXPECT 0: u32[80] = (i % 32) + 100 * idiv(i, 32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint2 p [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]]) {
    x[p.y * 10 + p.x] = lane + 100 * s;
}
