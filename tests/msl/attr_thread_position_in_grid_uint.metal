// thread_position_in_grid as a scalar.
// RUN: kernel=k threads=70 group=32
// ARG 0: u32[72]
// EXPECT 0: u32[72] = i < 70 ? i + 1 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i + 1; }
