// Signed minimum and maximum.
// RUN: kernel=k threads=101 group=32
// ARG 0: i32 [0 0]
// EXPECT 0: i32 [-50 50]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int v = int(i) - 50;
    atomic_fetch_min_explicit(&x[0], v, memory_order_relaxed);
    atomic_fetch_max_explicit(&x[1], v, memory_order_relaxed);
}
