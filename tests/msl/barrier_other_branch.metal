// Lanes of one SIMD-group at two barriers are at neither together. CPUs name the lanes, GPUs the difference.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: SIMD-group 0 reached
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    if (t < 7) {
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        x[t] = 1;
    } else {
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
        x[t] = 2;
    }
}
