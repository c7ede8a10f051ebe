// RUN: kernel=k threads=1 group=1
// ARG 0: i32 [5 6 7]
// ARG 1: i32[2]
// EXPECT 0: i32 [50 6 70]
// EXPECT 1: i32 [5 6]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_int *x [[buffer(0)]], device int *y [[buffer(1)]]) {
    y[0] = atomic_exchange_explicit(&x[0], 50, memory_order_relaxed);
    y[1] = atomic_load_explicit(&x[1], memory_order_relaxed);
    atomic_store_explicit(&x[2], 70, memory_order_relaxed);
}
