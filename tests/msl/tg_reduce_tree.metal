// The classic tree reduction over several SIMD-groups, with a barrier in a loop.
// RUN: kernel=k threadgroups=3 group=256
// ARG 0: i32[768] = i
// ARG 1: i32[3]
// EXPECT 1: i32[3] = sum(j, 0, 256, 256 * i + j)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *out [[buffer(1)]],
              uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
    threadgroup int s[256];
    s[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint stride = 128; stride > 0; stride /= 2) {
        if (t < stride)
            s[t] += s[t + stride];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0)
        out[g] = s[0];
}
