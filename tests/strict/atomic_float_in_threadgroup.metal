// Floats are added in device memory only.
#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_float *a [[buffer(0)]]) {
    threadgroup atomic_float sum;
    threadgroup atomic_int count;
    atomic_fetch_add_explicit(&sum, 1.0f, memory_order_relaxed); // REFUSED: adds floats in device memory only
    atomic_fetch_sub_explicit(&sum, 1.0f, memory_order_relaxed); // REFUSED: adds floats in device memory only
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(a, 1.0f, memory_order_relaxed);
}
