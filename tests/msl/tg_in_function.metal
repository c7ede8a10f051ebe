// Threadgroup memory handed to functions, by pointer and by reference.
// RUN: kernel=k threads=16 group=16
// ARG 0: i32[16] = i
// EXPECT 0: i32[16] = 120 + i
#include <metal_stdlib>
using namespace metal;

int total(threadgroup const int *s, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += s[i];
    return sum;
}
kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup int s[16];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] += total(s, 16);
}
