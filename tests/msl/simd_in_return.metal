// return out of nested loops, in a function and in the kernel: the lanes of one iteration together.
// RUN: kernel=k threads=64 group=32
// ARG 0: u32[64]
// ARG 1: u32[64]
// EXPECT 0: u32[64] = i % 32 < 16 ? 4 : 1
// EXPECT 1: u32[64] = i % 32 < 16 ? 0 : 16
#include <metal_stdlib>
using namespace metal;

static uint search(uint lane) {
    for (uint a = 0; a < 4; a++)
        for (uint b = 0; b < 4; b++) {
            if (lane < 16 && lane % 4 == b && a == 1)
                return simd_sum(1u);
            if (lane - 16 == a * 4 + b)
                return simd_sum(1u);
        }
    return 0;
}

kernel void k(device uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
              uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    x[i] = search(lane);
    for (uint j = 0; j < 2; j++)
        if (lane / 16 == j) {
            if (j == 1)
                y[i] = simd_sum(1u);
            return;
        }
}
