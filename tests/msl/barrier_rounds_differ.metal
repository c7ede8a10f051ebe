// A loop's rounds that SIMD-groups leave in different ones, by exits that compute the same, decide about barriers.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// ARG 1: i32[16] = i < 8 ? 9 : i == 9 ? -9 : 0
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: all lanes of SIMD-groups 0 ended while SIMD-groups 1 wait at a threadgroup barrier
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], device const int *a [[buffer(1)]], uint t [[thread_position_in_threadgroup]],
              uint simd [[simdgroup_index_in_threadgroup]]) {
    int rounds = 0;
    for (int i = 0;; i++) {
        if (a[simd * 8 + i] > 5) {
            rounds = i + 1;
            x[t] = 1;
            break;
        }
        if (a[simd * 8 + i] < -5) {
            rounds = i + 1;
            x[t] = 2;
            break;
        }
    }
    for (int i = 0; i < rounds; i++)
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[t] += rounds;
}
