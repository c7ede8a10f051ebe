// Lanes that have returned are missing at a barrier, and the error says which.
// RUN: kernel=k threads=8 group=8
// ARG 0: i32[8]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: kernel "k", threadgroup (0, 0, 0): SIMD-group 0 reached a threadgroup barrier without its lanes 5-7 (lanes 0x0000001f of 0x000000ff came)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    if (t >= 5)
        return;
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[t] = t;
}
