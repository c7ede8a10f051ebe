// Two dynamic arrays and a static one do not overlap.
// RUN: kernel=k threads=40 group=40
// ARG 0: i32[40]
// TG 0: 160
// TG 1: 160
// EXPECT 0: i32[40] = 111 * (39 - i)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], threadgroup int *a [[threadgroup(0)]], threadgroup int *b [[threadgroup(1)]],
              uint t [[thread_position_in_threadgroup]]) {
    threadgroup int c[40];
    a[t] = t;
    b[t] = 10 * t;
    c[t] = 100 * t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = a[39 - t] + b[39 - t] + c[39 - t];
}
