// RUN: kernel=k threads=32 group=32
// ARG 0: u8[1]
// EXPECT 0: u8 [1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_bool *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 20)
        atomic_store_explicit(x, true, memory_order_relaxed);
}
