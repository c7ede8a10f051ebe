// Barriers are found by their argument, without `using namespace metal`.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = 63 - i
#include <metal_stdlib>

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup uint t[64];
    t[i] = i;
    threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    simdgroup_barrier(metal::mem_flags::mem_none);
    x[i] = t[63 - i];
}
