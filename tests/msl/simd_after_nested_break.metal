// After a break, a continue or a return in a nested `if`, the lanes that are left are together.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = i % 32 < 8 ? i % 32 + 1 : i % 32 < 16 ? 1000 + 24 : i % 32 < 24 ? 2000 + 24 + 16 : 3000 + 24 + 16 + 8
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {
    x[i] = lane + 1;
    uint found = 0, j = 0;
    for (; j < 3; j++) {
        if (lane < 8) {
            x[i] = lane + 1;
            if (j == 0)
                return;
        }
        found += simd_sum(1u); // 24, 16, 8 lanes
        if (lane < 16) {
            if (j == 0) {
                j = 1;
                break;
            }
        } else if (lane < 24) {
            if (j == 1) {
                j = 2;
                break;
            }
        }
    }
    x[i] = 1000 * j + found;
}
