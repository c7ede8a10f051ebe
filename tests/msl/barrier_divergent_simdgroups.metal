// So is one that a whole SIMD-group misses.
// RUN: kernel=missing threads=96 group=96
// ARG 0: i32[96]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: missing
#include <metal_stdlib>
using namespace metal;

kernel void missing(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    if (t >= 64)
        return;
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[t] = t;
}
