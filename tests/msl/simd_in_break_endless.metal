// The only way out of the loop is the branch with the simd operation; the one behind the loop sees
// all lanes again.
// RUN: kernel=k threads=32 group=32
// ARG 0: u32[32]
// EXPECT 0: u32[32] = 4032 + i % 8
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint j = 0, here;
    while (true) {
        uint odd[2];
        odd[j & 1] = j;
        if (j == i % 8) {
            here = simd_sum(1u) * 1000 + odd[j & 1];
            break;
        }
        j++;
    }
    x[i] = here + simd_sum(1u);
}
