// Lanes that fall into a case and those that enter there are together at its simd operation.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = i % 4 == 0 ? 1608 : i % 4 == 1 ? 1600 : i % 4 == 2 ? 1608 : 1600
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {
    uint found = 0;
    switch (lane % 4) {
    case 0:
        found += simd_sum(1u); // 8 lanes
    case 1:
        found += 100 * simd_sum(1u); // 16
        break;
    case 2:
        found += simd_sum(1u);
    default:
        found += 100 * simd_sum(1u);
    }
    x[i] = found;
}
