// Zeros as initial values of a threadgroup array are accepted, and mean nothing.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = 63 - i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x, uint i [[thread_position_in_grid]]) {
    threadgroup int values[64] = {0};
    threadgroup int others[2] = {};
    values[i] = i;
    others[i & 1] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = values[63 - i] + others[i & 1];
}
