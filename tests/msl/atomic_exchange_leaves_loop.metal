// A compare-and-exchange that leaves its loop, with both of its results used afterwards: threads put keys into a
// hash table, and every key gets one slot.
// RUN: kernel=insert threads=64 group=64
// ARG 0: u32[64] = 1 + i % 8
// ARG 1: u32[64]
// ARG 2: u32[1]
// EXPECT 1: u32[64] = 1 + i % 8
// EXPECT 2: u32 [8]
#include <metal_stdlib>
using namespace metal;

constant uint slots = 16;

kernel void insert(device const uint *keys [[buffer(0)]], device uint *found [[buffer(1)]],
                   device uint *used [[buffer(2)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint table[slots];
    threadgroup atomic_uint count;
    if (i < slots)
        atomic_store_explicit(&table[i], 0u, memory_order_relaxed);
    if (i == 0)
        atomic_store_explicit(&count, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint key = keys[i], slot = key * 7 % slots, seen = 0;
    bool mine = false;
    for (uint probe = 0; probe < slots; probe++) {
        uint state = atomic_load_explicit(&table[slot], memory_order_relaxed);
        if (state == 0) {
            uint expected = 0;
            if (atomic_compare_exchange_weak_explicit(&table[slot], &expected, key, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                mine = true;
                seen = key;
                break;
            } else {
                state = expected;
            }
        }
        if (state == key) {
            seen = state;
            break;
        }
        slot = (slot + 1) % slots;
    }
    if (mine)
        atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
    found[i] = seen;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0)
        *used = atomic_load_explicit(&count, memory_order_relaxed);
}
