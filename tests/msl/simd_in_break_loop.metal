// A loop with a simd operation before a `break` of the loop around it: lanes that break in different
// iterations of that are not together in it.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = floor(i % 32 / 8) == 3 ? 0 : 2 * 8 + floor(i % 32 / 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint lane [[thread_index_in_simdgroup]]) {
    uint found = 0;
    for (uint j = 0; j < 3; j++) {
        if (lane / 8 == j) {
            for (uint m = 0; m < 2 + (lane & x[i]); m++)
                found += simd_sum(1u);
            found += j;
            break;
        }
    }
    x[i] = found;
}
