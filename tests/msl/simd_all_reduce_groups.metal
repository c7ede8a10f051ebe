// The usual two-level reduction: SIMD-groups, then one SIMD-group over their results.
// RUN: kernel=k threadgroups=2 group=1024
// ARG 0: f32[2048] = i % 11
// ARG 1: f32[2]
// EXPECT 1: f32[2] = sum(j, 0, 1024, (1024 * i + j) % 11)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]],
              uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
              uint s [[simdgroup_index_in_threadgroup]]) {
    threadgroup float partial[32];
    float v = simd_sum(x[i]);
    if (lane == 0)
        partial[s] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (s == 0) {
        v = simd_sum(partial[lane]);
        if (lane == 0)
            y[g] = v;
    }
}
