// Threadgroup memory and barriers in partial groups of a 3-D grid.
// RUN: kernel=k threads=5,5,3 group=4,4,2
// ARG 0: u32[75]
// EXPECT 0: u32[75] = (i % 5 < 4 ? 4 : 1) * (idiv(i, 5) % 5 < 4 ? 4 : 1) * (idiv(i, 25) < 2 ? 2 : 1)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint3 p [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint count;
    if (t == 0)
        atomic_store_explicit(&count, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[(p.z * 5 + p.y) * 5 + p.x] = atomic_load_explicit(&count, memory_order_relaxed);
}
