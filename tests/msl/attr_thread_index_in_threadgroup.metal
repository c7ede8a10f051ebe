// The linear index runs x fastest, then y, then z.
// RUN: kernel=k threads=3,4,5 group=3,4,5
// ARG 0: u32[60]
// EXPECT 0: u32[60] = i
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint3 t [[thread_position_in_threadgroup]],
              uint i [[thread_index_in_threadgroup]]) {
    x[t.x + 3 * t.y + 12 * t.z] = i;
}
