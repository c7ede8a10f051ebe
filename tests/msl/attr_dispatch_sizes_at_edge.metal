// In a partial group threads_per_threadgroup is the group's own size; dispatch_ is the asked one.
// RUN: kernel=k threads=10 group=8
// ARG 0: u32[10]
// EXPECT 0: u32[10] = (i < 8 ? 8 : 2) + 100 * 8
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint n [[threads_per_threadgroup]], uint d [[dispatch_threads_per_threadgroup]]) {
    x[i] = n + 100 * d;
}
