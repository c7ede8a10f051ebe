// A leading bounds check: each thread below it once, whatever the groups.
// RUN: kernel=k threads=1000 group=256
// ARG 0: u32[4200]
// ARG 1: u32 = 1000
// EXPECT 0: u32[4200] = i < 1000 ? i * 3 + 1 : 0
// RUN: kernel=k threads=1000 group=256
// ARG 0: u32[4200]
// ARG 1: u32 = 777
// EXPECT 0: u32[4200] = i < 777 ? i * 3 + 1 : 0
// RUN: kernel=k threads=1024 group=1024
// ARG 0: u32[4200]
// ARG 1: u32 = 0
// EXPECT 0: u32[4200] = i < 0 ? i * 3 + 1 : 0
// RUN: kernel=k threads=4096 group=1024
// ARG 0: u32[4200]
// ARG 1: u32 = 4095
// EXPECT 0: u32[4200] = i < 4095 ? i * 3 + 1 : 0
// RUN: kernel=k threads=4096 group=1024
// ARG 0: u32[4200]
// ARG 1: u32 = 33
// EXPECT 0: u32[4200] = i < 33 ? i * 3 + 1 : 0
// RUN: kernel=k threads=97 group=1
// ARG 0: u32[4200]
// ARG 1: u32 = 97
// EXPECT 0: u32[4200] = i < 97 ? i * 3 + 1 : 0
// RUN: kernel=k threads=500 group=7
// ARG 0: u32[4200]
// ARG 1: u32 = 450
// EXPECT 0: u32[4200] = i < 450 ? i * 3 + 1 : 0
// RUN: kernel=k threads=640 group=48
// ARG 0: u32[4200]
// ARG 1: u32 = 601
// EXPECT 0: u32[4200] = i < 601 ? i * 3 + 1 : 0
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[4200]
// ARG 1: u32 = 200
// EXPECT 0: u32[4200] = i < 64 ? i * 3 + 1 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], constant uint &n [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
    if (i >= n)
        return;
    x[i] += i * 3 + 1;
}
