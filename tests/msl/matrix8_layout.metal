// thread_elements() in the documented layout: lane bits b4…b0 hold row 4·b4 + 2·b2 + b1 and
// columns 4·b3 + 2·b0 + {0, 1}.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// EXPECT 1: f32[64] = 8 * (4 * idiv(i, 32) + 2 * (idiv(i, 8) % 2) + idiv(i, 4) % 2) + 4 * (idiv(i, 16) % 2) + 2 * (idiv(i, 2) % 2) + i % 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device float *b [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    b[2 * lane] = m.thread_elements()[0];
    b[2 * lane + 1] = m.thread_elements()[1];
}
