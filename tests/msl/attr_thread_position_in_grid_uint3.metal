// A 3-D grid with partial groups in every direction.
// RUN: kernel=k threads=5,3,4 group=2,2,3
// ARG 0: u32[60]
// EXPECT 0: u32[60] = (i % 5) + 100 * (idiv(i, 5) % 3) + 10000 * idiv(i, 15)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint3 p [[thread_position_in_grid]]) {
    x[(p.z * 3 + p.y) * 5 + p.x] = p.x + 100 * p.y + 10000 * p.z;
}
