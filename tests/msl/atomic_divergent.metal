// Only lanes in the branch add.
// RUN: kernel=k threads=100 group=50
// ARG 0: u32[1]
// EXPECT 0: u32 [34]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 3 == 0)
        atomic_fetch_add_explicit(x, 1u, memory_order_relaxed);
}
