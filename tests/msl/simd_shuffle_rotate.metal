// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// ARG 1: i32[32]
// EXPECT 0: i32[32] = (i + 28) % 32
// EXPECT 1: i32[32] = (i + 4) % 32
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *u [[buffer(0)]], device int *d [[buffer(1)]], uint i [[thread_index_in_simdgroup]]) {
    u[i] = simd_shuffle_rotate_up(int(i), 4);
    d[i] = simd_shuffle_rotate_down(int(i), 4);
}
