// A scalar condition between vectors.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[8]
// EXPECT 0: f32 [1 2 3 4 1 2 3 4]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = i % 2 ? float2(3, 4) : float2(1, 2);
}
