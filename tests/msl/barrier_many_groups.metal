// Many small groups with barriers, and a partial one at the end.
// RUN: kernel=k threads=1000 group=48
// ARG 0: i32[1000] = i
// EXPECT 0: i32[1000] = i < 960 ? 48 * idiv(i, 48) + 47 - i % 48 : 960 + 999 - i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
              uint n [[threads_per_threadgroup]]) {
    threadgroup int s[48];
    s[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[n - 1 - t];
}
