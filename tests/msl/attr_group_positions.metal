// Positions and sizes of threadgroups, in whole groups.
// RUN: kernel=k threadgroups=2,3 group=4,2
// ARG 0: u32[48]
// EXPECT 0: u32[48] = idiv(i % 8, 4) + 10 * idiv(idiv(i, 8), 2) + 100 * (i % 4) + 1000 * (idiv(i, 8) % 2) + 10000 * 2 + 100000 * 3
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint2 g [[threadgroup_position_in_grid]],
              uint2 t [[thread_position_in_threadgroup]], uint2 n [[threadgroups_per_grid]],
              uint2 s [[threads_per_threadgroup]]) {
    uint2 p = g * s + t;
    x[p.y * 8 + p.x] = g.x + 10 * g.y + 100 * t.x + 1000 * t.y + 10000 * n.x + 100000 * n.y;
}
