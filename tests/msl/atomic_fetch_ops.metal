// Every fetch operation on one word each, by many threads.
// RUN: kernel=k threads=1000 group=100
// ARG 0: u32 [0 1000000 0 4294967295 0 4294967295 0]
// EXPECT 0: u32 [1000 500500 999 0 1023 4294966272 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&x[0], 1u, memory_order_relaxed);
    atomic_fetch_sub_explicit(&x[1], i, memory_order_relaxed);
    atomic_fetch_max_explicit(&x[2], i, memory_order_relaxed);
    atomic_fetch_min_explicit(&x[3], i, memory_order_relaxed);
    atomic_fetch_or_explicit(&x[4], i, memory_order_relaxed);
    atomic_fetch_and_explicit(&x[5], ~i, memory_order_relaxed);
    atomic_fetch_xor_explicit(&x[6], i ^ (999 - i), memory_order_relaxed);
}
