// A barrier with mem_device makes device writes of the group visible.
// RUN: kernel=k threads=100 group=100
// ARG 0: i32[100]
// ARG 1: i32[100]
// EXPECT 1: i32[100] = 99 - i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], device int *y [[buffer(1)]], uint t [[thread_position_in_threadgroup]]) {
    x[t] = t;
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    y[t] = x[99 - t];
}
