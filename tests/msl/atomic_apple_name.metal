// Apple's headers call the atomic types _atomic<T>, and so do kernels.
// RUN: kernel=k threads=40 group=32
// ARG 0: u32 [2]
// EXPECT 0: u32 [42]
#include <metal_stdlib>
using namespace metal;

kernel void k(device _atomic<uint> *x [[buffer(0)]]) { atomic_fetch_add_explicit(x, 1u, memory_order_relaxed); }
