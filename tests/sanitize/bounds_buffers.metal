// Accesses outside of buffers as they are bound.
// SANITIZE: bounds
// RUN: kernel=past_end threads=64 group=32
// ARG 0: f32[60]
// RUN: kernel=before_start threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=one_past threads=1 group=1
// ARG 0: f32[4]
// RUN: kernel=half_of_a_vector threads=4 group=4
// ARG 0: f32[14]
// RUN: kernel=part_of_a_word threads=8 group=8
// ARG 0: u8[31]
// RUN: kernel=packed threads=4 group=4
// ARG 0: f32[11]
// RUN: kernel=atomics threads=40 group=20
// ARG 0: u32[8]
// RUN: kernel=exchange threads=4 group=4
// ARG 0: u32[2]
// RUN: kernel=atomic_read threads=4 group=4
// ARG 0: u32[3]
// ARG 1: u32[4]
// RUN: kernel=in_a_helper threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[8]
// RUN: kernel=in_a_loop threads=2 group=2
// ARG 0: f32[2]
// ARG 1: f32[9]
// RUN: kernel=pointer_walks threads=1 group=1
// ARG 0: f32[1]
// ARG 1: f32[7]
// RUN: kernel=divergent threads=64 group=64
// ARG 0: u32[16]
// RUN: kernel=two_dimensions threads=9,5 group=3,5
// ARG 0: u16[40]
// RUN: kernel=huge_index threads=2 group=2
// ARG 0: u32[2]
// RUN: kernel=negative_index threads=2 group=2
// ARG 0: i32[2]
// RUN: kernel=constant_buffer threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[6]
// RUN: kernel=struct_member threads=3 group=3
// ARG 0: f32[5]
// RUN: kernel=whole_struct threads=3 group=3
// ARG 0: f32[5]
// ARG 1: f32[6]
// RUN: kernel=bool_array threads=5 group=5
// ARG 0: u8[4]
// RUN: kernel=long_array threads=4 group=4
// ARG 0: u64[3]
// RUN: kernel=half_array threads=5 group=5
// ARG 0: f16[4]
// RUN: kernel=selected threads=4 group=4
// ARG 0: f32[2]
// ARG 1: f32[4]
// RUN: kernel=offset_binding threads=8 group=8
// ARG 0: f32[4] @ 16
// RUN: kernel=matrix_row threads=3 group=3
// ARG 0: f32[32]
// ARG 1: f32[3]
#include <metal_stdlib>
using namespace metal;

kernel void past_end(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1; // FINDS: bounds
}
kernel void before_start(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[int(i) - 1]; // FINDS: bounds
}
kernel void one_past(device float *x [[buffer(0)]]) {
    x[0] = 1;
    x[3] = 1;
    x[4] = 1; // FINDS: bounds
}
kernel void half_of_a_vector(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float4(1); // FINDS: bounds
}
kernel void part_of_a_word(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1; // FINDS: bounds
}
kernel void packed(device packed_float3 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float3 v = x[i]; // FINDS: bounds
    x[0] = v + 1;
}
kernel void atomics(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&x[i % 10], 1u, memory_order_relaxed); // FINDS: bounds
}
kernel void exchange(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint old = 0;
    atomic_compare_exchange_weak_explicit(&x[i], &old, 1u, memory_order_relaxed, memory_order_relaxed); // FINDS: bounds
}
kernel void atomic_read(device atomic_uint *x [[buffer(0)]], device uint *y [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    y[i] = atomic_load_explicit(&x[i], memory_order_relaxed); // FINDS: bounds
}
static float next(const device float *x, uint i) {
    return x[i + 1]; // FINDS: bounds
}
kernel void in_a_helper(device float *y [[buffer(0)]], const device float *x [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    y[i] = next(x, i);
}
kernel void in_a_loop(device float *y [[buffer(0)]], const device float *x [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < 5; k++) {
        sum += x[i * 5 + k]; // FINDS: bounds
    }
    y[i] = sum;
}
kernel void pointer_walks(device float *y [[buffer(0)]], const device float *x [[buffer(1)]]) {
    float sum = 0;
    for (const device float *p = x; p != x + 8; p++) {
        sum += *p; // FINDS: bounds
    }
    y[0] = sum;
}
kernel void divergent(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 4 == 3) {
        x[i / 3] = i; // FINDS: bounds
    }
}
kernel void two_dimensions(device ushort *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
    x[p.y * 9 + p.x] = 1; // FINDS: bounds
}
kernel void huge_index(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[ulong(i) << 40] = 1; // FINDS: bounds
}
kernel void negative_index(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[-1000000000 * int(i)] = 1; // FINDS: bounds
}
kernel void constant_buffer(device float *y [[buffer(0)]], constant float *x [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    y[i] = x[i]; // FINDS: bounds
}
struct pair {
    float a, b;
};
kernel void struct_member(device pair *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i].a = 1;
    x[i].b = 2; // FINDS: bounds
}
kernel void whole_struct(device pair *x [[buffer(0)]], const device pair *y [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    x[i] = y[i]; // FINDS: bounds
}
kernel void bool_array(device bool *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = true; // FINDS: bounds
}
kernel void long_array(device ulong *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1; // FINDS: bounds
}
kernel void half_array(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1; // FINDS: bounds
}
kernel void selected(device float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    device float *p = i & 1 ? x : y;
    p[i] = 1; // FINDS: bounds
}
kernel void offset_binding(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1; // FINDS: bounds
}
kernel void matrix_row(device float4x4 *x [[buffer(0)]], device float *y [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    y[i] = x[i][1][2]; // FINDS: bounds
}
