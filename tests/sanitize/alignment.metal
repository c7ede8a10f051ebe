// Accesses that are less aligned than their type asks for.
// SANITIZE: alignment
// RUN: kernel=bytes_as_word threads=4 group=4
// ARG 0: u8[32]
// ARG 1: u32[4]
// RUN: kernel=floats_as_vector threads=4 group=4
// ARG 0: f32[32]
// ARG 1: f32[16]
// RUN: kernel=store_of_a_vector threads=2 group=2
// ARG 0: f32[32]
// RUN: kernel=shorts_as_float threads=4 group=4
// ARG 0: u16[32]
// ARG 1: f32[4]
// RUN: kernel=words_as_long threads=4 group=4
// ARG 0: u32[32]
// ARG 1: u64[4]
// RUN: kernel=threadgroup_bytes threads=4 group=4
// ARG 0: u32[4]
// RUN: kernel=dynamic_bytes threads=4 group=4
// ARG 0: u32[4]
// TG 0: 64
// RUN: kernel=byte_offset threads=4 group=4
// ARG 0: u8[64]
// ARG 1: u32[4]
// RUN: kernel=through_a_helper threads=4 group=4
// ARG 0: u8[64]
// ARG 1: f32[4]
// RUN: kernel=even_is_fine threads=4 group=4
// ARG 0: u8[64]
// ARG 1: u32[4]
// RUN: kernel=packed_is_fine threads=4 group=4
// ARG 0: f32[16]
// ARG 1: f32[16]
// RUN: kernel=whole_vectors_are_fine threads=4 group=4
// ARG 0: f32[16]
// ARG 1: f32[16]
#include <metal_stdlib>
using namespace metal;

kernel void bytes_as_word(device uchar *x [[buffer(0)]], device uint *y [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    y[i] = *(device uint *)(x + i); // FINDS: alignment
}
kernel void floats_as_vector(device float *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = *(device float4 *)(x + 3 * i); // FINDS: alignment
}
kernel void store_of_a_vector(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    *(device float2 *)(x + 1 + 2 * i) = float2(1); // FINDS: alignment
}
kernel void shorts_as_float(device ushort *x [[buffer(0)]], device float *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    y[i] = *(device float *)(x + 3 * i); // FINDS: alignment
}
kernel void words_as_long(device uint *x [[buffer(0)]], device ulong *y [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    y[i] = ((device ulong *)(x + 1))[i]; // FINDS: alignment
}
kernel void threadgroup_bytes(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup uchar s[32];
    for (uint k = i; k < 32; k += 4) {
        s[k] = uchar(k);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = *(threadgroup uint *)(s + 5 * i); // FINDS: alignment
}
kernel void dynamic_bytes(device uint *y [[buffer(0)]], threadgroup uchar *s [[threadgroup(0)]],
                          uint i [[thread_position_in_grid]]) {
    *(threadgroup uint *)(s + 6 * i) = i; // FINDS: alignment
    y[i] = 0;
}
kernel void byte_offset(device uchar *x [[buffer(0)]], device uint *y [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    device uint *p = (device uint *)(x + 2);
    y[i] = p[i]; // FINDS: alignment
}
static float read(device uchar *x, uint at) {
    return *(device float *)(x + at); // FINDS: alignment
}
kernel void through_a_helper(device uchar *x [[buffer(0)]], device float *y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = read(x, 7 * i);
}
kernel void even_is_fine(device uchar *x [[buffer(0)]], device uint *y [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    y[i] = *(device uint *)(x + 4 * i);
}
kernel void packed_is_fine(device packed_float3 *x [[buffer(0)]], device packed_float4 *y [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    y[i] = float4(float3(x[i]), 1);
}
kernel void whole_vectors_are_fine(device float *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) {
    y[i] = *(device float4 *)(x + 4 * i);
}
