// A barrier under a condition that is the same for the whole group.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64] = i
// ARG 1: i32 = 1
// EXPECT 0: i32[64] = 63 - i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], constant int &flag [[buffer(1)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup int s[64];
    int v = x[t];
    if (flag) {
        s[t] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = s[63 - t];
    }
    x[t] = v;
}
