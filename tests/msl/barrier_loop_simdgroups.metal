// SIMD-groups that leave a loop earlier, and end, are missing at the barrier in it.
// RUN: kernel=k threads=96 group=96
// ARG 0: i32[96]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: all lanes of SIMD-groups 0 ended while SIMD-groups 1-2 wait at a threadgroup barrier
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]],
              uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup int s[2][96];
    int sum = 0;
    for (uint i = 0; i < 2 + simd; i++) {
        s[i % 2][t] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        sum += s[i % 2][95 - t];
    }
    x[t] = sum;
}
