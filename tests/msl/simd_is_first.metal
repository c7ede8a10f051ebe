// Exactly one lane of a SIMD-group is the first active one.
// RUN: kernel=k threads=96 group=96
// ARG 0: u32[2]
// EXPECT 0: u32 [3 165]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (simd_is_first())
        atomic_fetch_add_explicit(&x[0], 1u, memory_order_relaxed);
    if (i % 32 >= 23)
        if (simd_is_first())
            atomic_fetch_add_explicit(&x[1], i, memory_order_relaxed);
}
