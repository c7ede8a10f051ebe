// Atomics in threadgroup memory: a small histogram.
// RUN: kernel=k threads=320 group=160
// ARG 0: u32[10]
// EXPECT 0: u32[10] = 32
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
              uint t [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint bins[10];
    if (t < 10)
        atomic_store_explicit(&bins[t], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[i % 10], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 10)
        atomic_fetch_add_explicit(&x[t], atomic_load_explicit(&bins[t], memory_order_relaxed), memory_order_relaxed);
}
