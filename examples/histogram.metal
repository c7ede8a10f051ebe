// A histogram of bytes: each threadgroup counts in its own memory, then adds to the result.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uchar *values [[buffer(0)]],
                      device atomic_uint *bins [[buffer(1)]],
                      constant uint &count [[buffer(2)]],
                      uint i [[thread_position_in_grid]],
                      uint total [[threads_per_grid]],
                      uint t [[thread_index_in_threadgroup]],
                      uint threads [[threads_per_threadgroup]]) {
    threadgroup atomic_uint local[256];
    for (uint b = t; b < 256; b += threads)
        atomic_store_explicit(&local[b], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = i; k < count; k += total)
        atomic_fetch_add_explicit(&local[values[k]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint b = t; b < 256; b += threads) {
        uint n = atomic_load_explicit(&local[b], memory_order_relaxed);
        if (n)
            atomic_fetch_add_explicit(&bins[b], n, memory_order_relaxed);
    }
}
