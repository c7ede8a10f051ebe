// Atomics are of 32 bits; minimum, maximum and bits are of integers; 64 bits have atomic_min and atomic_max only.
#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_float *f [[buffer(0)]], device atomic_uint *u [[buffer(1)]],
              device atomic_ulong *l [[buffer(2)]], device atomic<half> *h [[buffer(3)]]) {
    atomic_fetch_add_explicit(f, 1.0f, memory_order_relaxed);
    atomic_fetch_min_explicit(f, 1.0f, memory_order_relaxed); // REFUSED: no atomic minimum or maximum of floats
    atomic_fetch_or_explicit(f, 1.0f, memory_order_relaxed); // REFUSED: no bitwise atomics of floats
    atomic_fetch_min_explicit(u, 1u, memory_order_relaxed);
    atomic_fetch_or_explicit(u, 1u, memory_order_relaxed);
    atomic_fetch_add_explicit(u, 1u, memory_order_relaxed);
    atomic_fetch_add_explicit(l, 1ul, memory_order_relaxed); // REFUSED: atomic_max_explicit of 64 bits, and no others
    atomic_max_explicit(l, 1ul, memory_order_relaxed);
    atomic_store_explicit(h, 1.0h, memory_order_relaxed); // REFUSED: less than 32 bits
}
