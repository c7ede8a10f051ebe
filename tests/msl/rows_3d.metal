// Three dimensions, each thread once.
// RUN: kernel=k threads=20,6,5 group=8,4,2
// ARG 0: u32[9000]
// EXPECT 0: u32[9000] = i % 150 < 20 && idiv(i, 150) % 6 < 6 && idiv(i, 900) < 5 ? i + 7 : 0
// RUN: kernel=k threads=64,3,3 group=32,2,2
// ARG 0: u32[9000]
// EXPECT 0: u32[9000] = i % 150 < 64 && idiv(i, 150) % 6 < 3 && idiv(i, 900) < 3 ? i + 7 : 0
// RUN: kernel=k threads=33,5,7 group=16,1,4
// ARG 0: u32[9000]
// EXPECT 0: u32[9000] = i % 150 < 33 && idiv(i, 150) % 6 < 5 && idiv(i, 900) < 7 ? i + 7 : 0
// RUN: kernel=k threads=5,5,60 group=1,1,32
// ARG 0: u32[54000]
// EXPECT 0: u32[54000] = i % 150 < 5 && idiv(i, 150) % 6 < 5 && idiv(i, 900) < 60 ? i + 7 : 0
// RUN: kernel=k threads=130,2,2 group=64,2,2
// ARG 0: u32[9000]
// EXPECT 0: u32[9000] = i % 150 < 130 && idiv(i, 150) % 6 < 2 && idiv(i, 900) < 2 ? i + 7 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint3 p [[thread_position_in_grid]]) {
    uint i = (p.z * 6 + p.y) * 150 + p.x;
    x[i] += i + 7;
}
