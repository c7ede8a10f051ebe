// SIMD-groups that have ended are missing at a barrier; of many threadgroups one is named.
// RUN: kernel=k threads=128,1,3 group=128
// ARG 0: i32[3] = i == 2
// ARG 1: i32[128]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: kernel "k", threadgroup (0, 0, 2): all lanes of SIMD-groups 1-2 ended while SIMD-groups 0, 3 wait at a threadgroup barrier
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *ends [[buffer(0)]], device int *x [[buffer(1)]],
              uint3 group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    if (ends[group.z] && t >= 32 && t < 96)
        return;
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[t] = t;
}
