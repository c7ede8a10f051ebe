// Several thousand groups.
// RUN: kernel=k threads=100000 group=64
// ARG 0: u32[100000]
// EXPECT 0: u32[100000] = i * 2654435761 % 4294967296
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i * 2654435761u; }
