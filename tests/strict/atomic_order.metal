#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_uint *x [[buffer(0)]]) {
    atomic_fetch_add_explicit(x, 1u, memory_order_seq_cst); // REFUSED: takes memory_order_relaxed only
}
