// Without a group size the device picks one that fits.
// RUN: kernel=k threads=500
// ARG 0: u32[500]
// EXPECT 0: u32[500] = i
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i; }
