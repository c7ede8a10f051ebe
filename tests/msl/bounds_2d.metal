// A bounds check in two dimensions, with groups wide, square, narrow and cut at the edge.
// RUN: kernel=k threads=64,16 group=32,8
// ARG 0: u32[21000]
// ARG 1: u32 [64 16]
// EXPECT 0: u32[21000] = i % 520 < 64 && idiv(i, 520) < 16 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=70,20 group=16,16
// ARG 0: u32[21000]
// ARG 1: u32 [61 17]
// EXPECT 0: u32[21000] = i % 520 < 61 && idiv(i, 520) < 17 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=100,9 group=8,8
// ARG 0: u32[21000]
// ARG 1: u32 [100 9]
// EXPECT 0: u32[21000] = i % 520 < 100 && idiv(i, 520) < 9 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=300,5 group=256,1
// ARG 0: u32[21000]
// ARG 1: u32 [299 5]
// EXPECT 0: u32[21000] = i % 520 < 299 && idiv(i, 520) < 5 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=300,20 group=32,4
// ARG 0: u32[21000]
// ARG 1: u32 [290 3]
// EXPECT 0: u32[21000] = i % 520 < 290 && idiv(i, 520) < 3 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=3,40 group=1,64
// ARG 0: u32[21000]
// ARG 1: u32 [3 40]
// EXPECT 0: u32[21000] = i % 520 < 3 && idiv(i, 520) < 40 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=200,10 group=24,3
// ARG 0: u32[21000]
// ARG 1: u32 [150 10]
// EXPECT 0: u32[21000] = i % 520 < 150 && idiv(i, 520) < 10 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=513,33 group=16,16
// ARG 0: u32[21000]
// ARG 1: u32 [513 33]
// EXPECT 0: u32[21000] = i % 520 < 513 && idiv(i, 520) < 33 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
// RUN: kernel=k threads=40,4 group=40,4
// ARG 0: u32[21000]
// ARG 1: u32 [35 9]
// EXPECT 0: u32[21000] = i % 520 < 35 && idiv(i, 520) < 4 ? i % 520 + 1000 * idiv(i, 520) + 1 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], constant uint2 &size [[buffer(1)]],
              uint2 p [[thread_position_in_grid]]) {
    if (p.x >= size.x || p.y >= size.y)
        return;
    x[p.y * 520 + p.x] += p.x + 1000 * p.y + 1;
}
