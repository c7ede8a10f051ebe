// Two arguments may be views of one another's neighbourhood: read, then write, per thread.
// RUN: kernel=k threads=16 group=16
// ARG 0: f32[16] = i
// ARG 1: f32[16] = 100 + i
// EXPECT 0: f32[16] = 100 + i
// EXPECT 1: f32[16] = i
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *a [[buffer(0)]], device float *b [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float t = a[i];
    a[i] = b[i];
    b[i] = t;
}
