// A SIMD-group that skips a barrier meets the others at its next one, and is missing at theirs.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: all lanes of SIMD-groups 1 ended while SIMD-groups 0 wait at a threadgroup barrier
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    if (t < 32)
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    x[t] = t;
    threadgroup_barrier(mem_flags::mem_device);
}
