// Transpose through a padded 2-D tile.
// RUN: kernel=k threads=16,16 group=8,8
// ARG 0: f32[256] = i
// ARG 1: f32[256]
// EXPECT 1: f32[256] = 16 * (i % 16) + idiv(i, 16)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
              uint2 g [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8][9];
    tile[t.y][t.x] = in[(g.y * 8 + t.y) * 16 + g.x * 8 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[(g.x * 8 + t.y) * 16 + g.y * 8 + t.x] = tile[t.x][t.y];
}
