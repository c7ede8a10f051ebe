// Accesses by types that ask for more than their address has.
// SANITIZE: alignment
// RUN: kernel=odd_short threads=4 group=4
// ARG 0: u8[32]
// ARG 1: u16[4]
// RUN: kernel=half2_at_odd_half threads=4 group=4
// ARG 0: f16[32]
// ARG 1: f16[8]
// RUN: kernel=vector_store_of_halves threads=4 group=4
// ARG 0: f16[32]
// RUN: kernel=atomic_in_bytes threads=4 group=4
// ARG 0: u8[64]
// RUN: kernel=struct_in_words threads=4 group=4
// ARG 0: u32[32]
// ARG 1: f32[8]
// RUN: kernel=threadgroup_vector threads=4 group=4
// ARG 0: f32[16]
// RUN: kernel=packed_in_words_is_fine threads=4 group=4
// ARG 0: u32[32]
// ARG 1: f32[16]
// RUN: kernel=aligned_casts_are_fine threads=4 group=4
// ARG 0: f32[32]
// ARG 1: f32[16]
#include <metal_stdlib>
using namespace metal;

kernel void odd_short(device uchar *x [[buffer(0)]], device ushort *y [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    y[i] = *(device ushort *)(x + 3 * i); // FINDS: alignment
}
kernel void half2_at_odd_half(device half *x [[buffer(0)]], device half2 *y [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    y[i] = *(device half2 *)(x + 3 * i); // FINDS: alignment
}
kernel void vector_store_of_halves(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    *(device half4 *)(x + 2 + 4 * i) = half4(1); // FINDS: alignment
}
kernel void atomic_in_bytes(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit((device atomic_uint *)(x + 6 * i), 1u, memory_order_relaxed); // FINDS: alignment
}
kernel void struct_in_words(device uint *x [[buffer(0)]], device float2 *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    struct two {
        float2 v;
    };
    y[i] = ((device two *)(x + 1))[i].v; // FINDS: alignment
}
kernel void threadgroup_vector(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[32];
    for (uint k = i; k < 32; k += 4) {
        s[k] = float(k);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = *(threadgroup float4 *)(s + 3 * i); // FINDS: alignment
}
kernel void packed_in_words_is_fine(device uint *x [[buffer(0)]], device packed_float3 *y [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
    y[i] = *(device packed_float3 *)(x + 3 * i);
}
kernel void aligned_casts_are_fine(device float *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) {
    y[i] = *(device float4 *)(x + 8 * (i & 1)) + float4(*(device packed_float4 *)(x + i));
}
