// A 2-D grid whose last groups are partial in both directions.
// RUN: kernel=k threads=10,7 group=4,4
// ARG 0: u32[70]
// EXPECT 0: u32[70] = (i % 10) + 100 * idiv(i, 10)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
    x[p.y * 10 + p.x] = p.x + 100 * p.y;
}
