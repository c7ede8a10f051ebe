// Up and down; the lanes past the edge keep their own value here by selection.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = i + 100
// ARG 1: i32[32]
// ARG 2: i32[32]
// EXPECT 1: i32[32] = i < 3 ? -1 : i + 97
// EXPECT 2: i32[32] = i > 28 ? -1 : i + 103
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *u [[buffer(1)]], device int *d [[buffer(2)]],
              uint i [[thread_index_in_simdgroup]]) {
    int up = simd_shuffle_up(x[i], 3), down = simd_shuffle_down(x[i], 3);
    u[i] = i < 3 ? -1 : up;
    d[i] = i > 28 ? -1 : down;
}
