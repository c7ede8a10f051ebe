// A pointer type with its address space as a template argument.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32 [10 20 30 40]
// EXPECT 0: f32 [11 22 33 44]
#include <metal_stdlib>
using namespace metal;

template <typename P> float get(P p, uint i) { return p[i]; }
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    threadgroup float t[4];
    t[i] = get(x, i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = get((threadgroup float *)t, i) + get(c, i);
}
