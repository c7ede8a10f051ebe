// 64-bit atomic minimum and maximum without a result.
// RUN: kernel=k threads=64 group=64
// ARG 0: u64 [18446744073709551615 0]
// EXPECT 0: u64 [4294967296 274877906944]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_ulong *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    ulong v = ulong(i + 1) << 32;
    atomic_min_explicit(&x[0], v, memory_order_relaxed);
    atomic_max_explicit(&x[1], v, memory_order_relaxed);
}
