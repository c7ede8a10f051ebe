// A float sum built from compare_exchange_weak.
// RUN: kernel=k threads=100 group=20
// ARG 0: u32[1]
// EXPECT 0: f32 [4950]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(x, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(x, &old, as_type<uint>(as_type<float>(old) + float(i)),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}
