// RUN: kernel=k threads=24 group=24
// ARG 0: u32[24]
// EXPECT 0: u32[24] = (i % 4) + 10 * idiv(i, 4) + 1000 * 6
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint q [[thread_index_in_quadgroup]], uint g [[quadgroup_index_in_threadgroup]],
              uint n [[quadgroups_per_threadgroup]]) {
    x[i] = q + 10 * g + 1000 * n;
}
