// A barrier that only some threads reach is an error that names the kernel.
// RUN: kernel=half_way threads=64 group=64
// ARG 0: i32[64]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: half_way
#include <metal_stdlib>
using namespace metal;

kernel void half_way(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    if (t % 2)
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    x[t] = t;
}
