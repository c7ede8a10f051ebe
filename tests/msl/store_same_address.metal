// Several lanes store to one address: on CPUs the highest lane wins, elsewhere one of them.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[2]
// DEVICE: cpu: elsewhere any of the lanes may win
// EXPECT 0: i32 [31 30]
// RUN: kernel=one_wins threads=32 group=32
// ARG 0: i32 [-1 -1]
// ARG 1: i32[2]
// EXPECT 1: i32 [1 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[0] = i; // FINDS: race
    if (i % 2 == 0)
        x[1] = i; // FINDS: race
}

kernel void one_wins(device int *x [[buffer(0)]], device int *fine [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    x[0] = i; // FINDS: race
    if (i % 2 == 0)
        x[1] = i; // FINDS: race
    threadgroup_barrier(mem_flags::mem_device);
    if (i == 0) {
        fine[0] = x[0] >= 0 && x[0] < 32;
        fine[1] = x[1] >= 0 && x[1] < 32 && x[1] % 2 == 0;
    }
}
