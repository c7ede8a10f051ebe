// atomic<float>: sums of small integers are exact in any order.
// RUN: kernel=k threads=300 group=100
// ARG 0: f32[1]
// EXPECT 0: f32 [44850]
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic<float> *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(x, float(i), memory_order_relaxed);
}
