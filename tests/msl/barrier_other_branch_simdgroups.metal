// SIMD-groups may be at different barriers, as long as each threadgroup's threads are all at one.
// RUN: kernel=k threads=200 group=100
// ARG 0: i32[200]
// EXPECT 0: i32[200] = i % 100 < 32 ? 100 + 99 - i % 100 : i % 100
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]], uint i [[thread_position_in_grid]],
              uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup int s[100];
    s[t] = t;
    int v;
    if (simd == 0) {
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        v = 100 + s[99 - t];
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = s[t];
    }
    x[i] = v;
}
