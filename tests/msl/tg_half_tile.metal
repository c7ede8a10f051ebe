// half and bfloat in threadgroup memory.
// RUN: kernel=k threads=64 group=64
// ARG 0: f16[64] = i / 4
// ARG 1: f32[64]
// EXPECT 1: f32[64] = (63 - i) / 4 + (i % 2 ? 1.5 : 2.5)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half *x [[buffer(0)]], device float *y [[buffer(1)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup half a[64];
    threadgroup bfloat b[2];
    a[t] = x[t];
    if (t < 2)
        b[t] = bfloat(t ? 1.5f : 2.5f);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = float(a[63 - t]) + float(b[t % 2]);
}
