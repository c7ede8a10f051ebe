// Static threadgroup memory: reverse within a group.
// RUN: kernel=k threads=128 group=64
// ARG 0: i32[128] = i
// EXPECT 0: i32[128] = 64 * idiv(i, 64) + 63 - i % 64
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint t [[thread_position_in_threadgroup]]) {
    threadgroup int s[64];
    s[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - t];
}
