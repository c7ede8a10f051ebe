// simdgroup_barrier orders the lanes of a SIMD-group.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = i % 32 == 31 ? 32 * idiv(i, 32) : i + 1
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup int s[64];
    s[t] = t;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = s[(t & ~31u) | ((t + 1) & 31)];
}
