// Accesses outside of threadgroup arrays, private arrays and tables of constants.
// SANITIZE: bounds
// RUN: kernel=static_array threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=dynamic_array threads=64 group=64
// ARG 0: f32[64]
// TG 0: 240
// RUN: kernel=second_dynamic_array threads=8 group=8
// ARG 0: f32[8]
// TG 0: 64
// TG 1: 16
// RUN: kernel=array_of_arrays threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=neighbour threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=private_array threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=private_loop threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=private_read threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=private_in_a_helper threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=private_member threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=vector_element threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=program_table threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=local_table threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=threadgroup_atomic threads=8 group=8
// ARG 0: u32[8]
// RUN: kernel=tile_load threads=32 group=32
// ARG 0: f32[63]
// ARG 1: f32[64]
// RUN: kernel=tile_store threads=32 group=32
// ARG 0: f32[64]
// ARG 1: f32[120]
// RUN: kernel=tile_stride threads=32 group=32
// ARG 0: f32[128]
// ARG 1: f32[64]
// RUN: kernel=tile_of_halves threads=32 group=32
// ARG 0: f16[60]
// ARG 1: f16[64]
// RUN: kernel=tile_shared threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=argument_buffer threads=8 group=8
// ARG 0: bytes = addr:16
// ARG 16: f32[4]
// RUN: kernel=wild_pointer threads=4 group=4
// ARG 0: u64 [64 0 1234567890123 18446744073709551615]
// RUN: kernel=pointer_in_memory threads=2 group=2
// ARG 0: u64[2]
// ARG 1: f32[4]
// RUN: kernel=one_of_two_tables threads=8 group=8
// ARG 0: u32[8]
#include <metal_stdlib>
using namespace metal;

kernel void static_array(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[60];
    s[i] = 1; // FINDS: bounds
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i % 60];
}
kernel void dynamic_array(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]],
                          uint i [[thread_position_in_grid]]) {
    s[i] = 1; // FINDS: bounds
    x[i] = 0;
}
kernel void second_dynamic_array(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]],
                                 threadgroup float *t [[threadgroup(1)]], uint i [[thread_position_in_grid]]) {
    s[i] = 1;
    t[i] = 1; // FINDS: bounds
    x[i] = s[i];
}
kernel void array_of_arrays(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[4][8];
    s[i][i] = 1; // FINDS: bounds
    x[i] = s[3][i];
}
kernel void neighbour(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[8], t[8];
    s[i] = 1;
    t[i] = 2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i + 1] + t[i]; // FINDS: bounds
}
kernel void private_array(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {0, 0, 0, 0};
    a[i] = 1; // FINDS: bounds
    x[i] = a[i % 4];
}
kernel void private_loop(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4];
    for (int k = 0; k <= 4; k++) {
        a[k] = float(k); // FINDS: bounds
    }
    x[i] = a[i % 4];
}
kernel void private_read(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4] = {1, 2, 3, 4};
    x[i] = a[int(i) - 1]; // FINDS: bounds
}
static void fill(thread float *a, uint n) {
    for (uint k = 0; k < n; k++) {
        a[k] = 1; // FINDS: bounds
    }
}
kernel void private_in_a_helper(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float a[4];
    fill(a, i);
    x[i] = a[i % 4];
}
struct holder {
    float first[2];
    float second[2];
};
kernel void private_member(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    holder h = {{1, 2}, {3, 4}};
    x[i] = h.second[i]; // FINDS: bounds
}
kernel void vector_element(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v[2] = {float4(1), float4(2)};
    x[i] = v[i].x; // FINDS: bounds
}
constant float table[4] = {1, 2, 3, 4};
kernel void program_table(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = table[i]; // FINDS: bounds
}
kernel void local_table(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    constexpr float own[4] = {1, 2, 3, 4};
    x[i] = own[i]; // FINDS: bounds
}
kernel void threadgroup_atomic(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup atomic_uint s[4];
    if (i < 4) {
        atomic_store_explicit(&s[i], 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&s[i], 1u, memory_order_relaxed); // FINDS: bounds
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = atomic_load_explicit(&s[i % 4], memory_order_relaxed);
}
kernel void tile_load(device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8); // FINDS: bounds
    simdgroup_store(m, y, 8);
}
kernel void tile_store(device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    simdgroup_store(m, y, 17); // FINDS: bounds
}
kernel void tile_stride(device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x + 4, 18); // FINDS: bounds
    simdgroup_store(m, y, 8);
}
kernel void tile_of_halves(device half *x [[buffer(0)]], device half *y [[buffer(1)]]) {
    simdgroup_half8x8 m;
    simdgroup_load(m, x, 8); // FINDS: bounds
    simdgroup_store(m, y, 8);
}
kernel void tile_shared(device float *x [[buffer(0)]]) {
    threadgroup float s[56];
    simdgroup_float8x8 m(1);
    simdgroup_store(m, s, 8); // FINDS: bounds
    simdgroup_store(m, x, 8);
}
struct arguments {
    device float *x;
};
kernel void argument_buffer(constant arguments &a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    a.x[i] = 1; // FINDS: bounds
}
kernel void wild_pointer(device ulong *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    *(device uint *)x[i] = 1; // FINDS: bounds
}
kernel void pointer_in_memory(device ulong *p [[buffer(0)]], device float *x [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    p[i] = (ulong)(x + 4 * i);
    device float *q = (device float *)p[i];
    *q = 1; // FINDS: bounds
}
// RUN: kernel=member_functions_of_spaces threads=4 group=4
// ARG 0: u32[4]
template <typename T, int N> struct any_space {
    T elements[N];
    thread T &operator[](size_t at) thread { return elements[at]; }
    const thread T &operator[](size_t at) const thread { return elements[at]; }
    device T &operator[](size_t at) device { return elements[at]; }
    const device T &operator[](size_t at) const device { return elements[at]; }
    threadgroup T &operator[](size_t at) threadgroup { return elements[at]; }
    const constant T &operator[](size_t at) const constant { return elements[at]; }
};
kernel void member_functions_of_spaces(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    any_space<uint4, 8> a;
    for (int k = 0; k < 8; k++) {
        a[k] = uint4(i);
    }
    x[i] = a[int(i) - 2].w; // FINDS: bounds
}
constant uint first_pair[2] = {10, 6};
constant uint second_pair[2] = {6, 7};
kernel void one_of_two_tables(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    constant const uint *at = i < 2 ? &first_pair[i] : &second_pair[i - 2];
    x[i] = *at; // FINDS: bounds
}
