// Atomics of half, bfloat and ulong.
// RUN: kernel=k threads=64 group=32
// ARG 0: f16 [1.5 0]
// ARG 1: bf16 [0 0]
// ARG 2: u64 [4294967296]
// EXPECT 0: f16 [65.5 0]
// EXPECT 1: bf16 [128 0]
// EXPECT 2: u64 [4294969312]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic<half> *h [[buffer(0)]], device atomic<bfloat> *b [[buffer(1)]],
              device atomic<ulong> *u [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(h, 1.0h, memory_order_relaxed);
    atomic_fetch_add_explicit(b, 2.0bf, memory_order_relaxed);
    atomic_fetch_add_explicit(u, ulong(i), memory_order_relaxed);
}
