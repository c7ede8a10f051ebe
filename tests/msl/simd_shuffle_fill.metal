// shuffle_and_fill takes what is missing from the second value.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// ARG 1: i32[32]
// EXPECT 0: i32[32] = i < 2 ? 1000 + 30 + i : i - 2
// EXPECT 1: i32[32] = i > 29 ? 1000 + i - 30 : i + 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *u [[buffer(0)]], device int *d [[buffer(1)]], uint i [[thread_index_in_simdgroup]]) {
    u[i] = simd_shuffle_and_fill_up(int(i), int(1000 + i), 2);
    d[i] = simd_shuffle_and_fill_down(int(i), int(1000 + i), 2);
}
