// Threadgroup memory whose length comes with the launch.
// RUN: kernel=k threads=96 group=48
// ARG 0: i32[96] = i
// TG 0: 192
// EXPECT 0: i32[96] = 48 * idiv(i, 48) + 47 - i % 48
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], threadgroup int *s [[threadgroup(0)]],
              uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
    s[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[47 - t];
}
