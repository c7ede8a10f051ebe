// Lanes that break in one iteration take part in its simd operation; the others do not.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = floor(i % 32 / 8) == 3 ? 108 : 8 + floor(i % 32 / 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {
    uint found = 0;
    for (uint j = 0; j < 3; j++) {
        if (lane / 8 == j) {
            found = simd_sum(1u) + j;
            break;
        }
    }
    if (lane / 8 == 3)
        found = 100 + simd_sum(1u);
    x[i] = found;
}
