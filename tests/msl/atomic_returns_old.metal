// The old values of fetch_add are all different: each thread takes a slot.
// RUN: kernel=k threads=200 group=50
// ARG 0: u32[1]
// ARG 1: u32[200]
// EXPECT 0: u32 [200]
// EXPECT 1: u32[200] = 1
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]], device uint *y [[buffer(1)]]) {
    uint slot = atomic_fetch_add_explicit(x, 1u, memory_order_relaxed);
    y[slot] += 1;
}
