// Lanes that leave a loop earlier are missing at the barrier in it.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: kernel "k", threadgroup (0, 0, 0): SIMD-group 0 reached a threadgroup barrier without its lanes 0-3 (lanes 0xfffffff0 of 0xffffffff came)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    int sum = 0;
    for (uint i = 0; i < 2 + t / 4; i++) {
        sum += x[(t + i) % 32];
        threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    }
    x[t] = sum;
}
