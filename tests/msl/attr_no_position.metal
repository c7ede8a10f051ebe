// A kernel that asks for no position at all still runs once per thread.
// RUN: kernel=k threads=100 group=10
// ARG 0: u32[1]
// EXPECT 0: u32 [100]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]]) { atomic_fetch_add_explicit(x, 1u, memory_order_relaxed); }
