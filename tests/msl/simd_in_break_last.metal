// A body that ends in break: what stands before it belongs to the iteration.
// RUN: kernel=k threads=32 group=32
// ARG 0: u32[32]
// EXPECT 0: u32[32] = 8 * 100 + i % 4
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint j = 0, here;
    while (true) {
        if (j != i % 4) {
            j++;
            continue;
        }
        here = simd_sum(1u) * 100 + j;
        break;
    }
    x[i] = here;
}
