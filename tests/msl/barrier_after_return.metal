// Barriers behind a return that no thread of a threadgroup takes, or all do, in whole and partial groups.
// RUN: kernel=k threads=12,25 group=10,10
// ARG 0: i32[300] = i
// ARG 1: u32 = 20
// EXPECT 0: i32[300] = i < 240 ? (idiv(i, 120) * 10 + 9 - idiv(i, 12) % 10) * 12 + i % 12 : i
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], constant uint &rows [[buffer(1)]], uint2 at [[thread_position_in_grid]],
              uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup int s[10][10];
    if (at.y >= rows)
        return;
    s[t.y][t.x] = x[at.y * 12 + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int v = s[9 - t.y][t.x];
    if (v >= 0)
        threadgroup_barrier(mem_flags::mem_threadgroup);
    x[at.y * 12 + at.x] = v;
}
