// coherent(system) and coherent(device) memory is memory: MSL 3.2.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32 [1 2 3 4]
// ARG 1: i64[4]
// EXPECT 1: i64 [2 4 6 8]
#include <metal_stdlib>
using namespace metal;

kernel void k(coherent(system) device int *x [[buffer(0)]], coherent device long *y [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
    long3 twice = long3(x[i]) * 2;
    y[i] = twice.z;
}
