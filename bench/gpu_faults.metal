// Kernels of gpu_faults.c: one that works, one that leaves its memory, one that does not end.
#include <metal_stdlib>
using namespace metal;

kernel void add_one(device uint *data [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    data[i] = data[i] + i + 1;
}

kernel void wild(device uint *data [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    data[i + 0x4000000000ul] = 1;
}

kernel void endless(device atomic_uint *data [[buffer(0)]]) {
    while (atomic_load_explicit(data, memory_order_relaxed) != 12345) {
    }
}
