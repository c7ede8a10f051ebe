// A lock taken and given back within one iteration: lanes that wait for it go on.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[1]
// ARG 1: u32[1]
// EXPECT 1: u32[1] = 64
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *lock [[buffer(0)]], device volatile uint *count [[buffer(1)]]) {
    while (true) {
        if (atomic_exchange_explicit(lock, 1, memory_order_relaxed) == 0) {
            *count = *count + 1; // FINDS: race
            atomic_store_explicit(lock, 0, memory_order_relaxed);
            break;
        }
    }
}
