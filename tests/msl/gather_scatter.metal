// Reads and writes through an index array: a permutation.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64] = (i * 37) % 64
// ARG 1: f32[64] = i
// ARG 2: f32[64]
// ARG 3: f32[64]
// EXPECT 2: f32[64] = (i * 37) % 64
// EXPECT 3: f32[64] = (i * 45) % 64
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *index [[buffer(0)]], device const float *x [[buffer(1)]], device float *gathered [[buffer(2)]],
              device float *scattered [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    gathered[i] = x[index[i]];
    scattered[index[i]] = x[i];
}
