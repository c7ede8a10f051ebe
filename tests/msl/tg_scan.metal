// A Hillis-Steele scan: reads and writes separated by barriers.
// RUN: kernel=k threads=200 group=200
// ARG 0: i32[200] = i + 1
// EXPECT 0: i32[200] = sum(j, 0, i + 1, j + 1)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup int s[1024];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 1; d < n; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[t] += v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[t] = s[t];
}
