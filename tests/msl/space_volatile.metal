// volatile device memory.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32 [1 2 3 4]
// EXPECT 0: i32 [2 4 6 8]
#include <metal_stdlib>
using namespace metal;

kernel void k(volatile device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = x[i] + x[i]; }

// Vectors too, whole and by component.
// RUN: kernel=vectors threads=2 group=2
// ARG 0: f32 [1 2 3 4 5 6 7 8]
// EXPECT 0: f32 [2 3 4 9 6 7 8 9]
kernel void vectors(volatile device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 old = x[i];
    x[i] = old + 1;
    x[i].w = 9;
}

// Plain vectors are assigned as ever, from every address space.
// RUN: kernel=plain threads=1 group=1
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32[8]
// EXPECT 1: f32 [1 2 3 4 2 2 2 2]
kernel void plain(const device float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]]) {
    threadgroup float4 shared;
    float4 own;
    own = x[0];
    shared = own;
    y[0] = shared;
    y[1] = x[0];
    y[1] = 2;
}
