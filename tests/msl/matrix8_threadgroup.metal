// Load from and store to threadgroup memory; a diagonal matrix.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i
// EXPECT 0: f32[64] = 2 * i
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *a [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = a[t];
    s[t + 32] = a[t + 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m, two(2.0f), r;
    simdgroup_load(m, s, 8);
    simdgroup_multiply(r, m, two);
    simdgroup_store(r, s, 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    a[t] = s[t];
    a[t + 32] = s[t + 32];
}
