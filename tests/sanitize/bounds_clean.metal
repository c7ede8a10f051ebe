// The same kinds of access, inside of what is bound.
// SANITIZE: bounds,alignment,arithmetic
// RUN: kernel=to_the_end threads=60 group=32
// ARG 0: f32[60]
// EXPECT 0: f32[60] = 1
// RUN: kernel=guarded threads=64 group=32
// ARG 0: f32[60]
// ARG 1: u32 [60]
// RUN: kernel=vectors threads=4 group=4
// ARG 0: f32[16]
// RUN: kernel=packed threads=4 group=4
// ARG 0: f32[12]
// RUN: kernel=atomics threads=40 group=20
// ARG 0: u32[8]
// EXPECT 0: u32[8] = 5
// RUN: kernel=walks threads=1 group=1
// ARG 0: f32[1]
// ARG 1: f32[8] = 1
// EXPECT 0: f32 [8]
// RUN: kernel=arrays threads=64 group=64
// ARG 0: f32[64]
// TG 0: 256
// RUN: kernel=local_table threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=tile threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// EXPECT 1: f32[64] = i
// RUN: kernel=shared_tile threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// EXPECT 1: f32[64] = i
// RUN: kernel=unused_lane_reads_nothing threads=64 group=64
// ARG 0: f32[64]
// ARG 1: f32[32] = i
// RUN: kernel=two_roots threads=8 group=8
// ARG 0: f32[8]
// ARG 1: f32[8]
// RUN: kernel=members threads=4 group=4
// ARG 0: f32[8]
// ARG 1: bytes = f32:1 f32:2 u32:3 u32:4
// RUN: kernel=one_of_two_pairs threads=4 group=4
// ARG 0: u32[4]
// EXPECT 0: u32 [10 6 6 7]
// RUN: kernel=table_or_argument threads=4 group=4
// ARG 0: u32[4]
// ARG 1: u32 [1 2]
// EXPECT 0: u32 [1 2 6 7]
#include <metal_stdlib>
using namespace metal;

kernel void to_the_end(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 1; }
kernel void guarded(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (i < n) {
        x[i] = x[i] + 1;
    }
}
kernel void vectors(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[3 - i] + 1;
    x[i].w = 2;
}
kernel void packed(device packed_float3 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float3(x[i]) + 1;
}
kernel void atomics(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&x[i % 8], 1u, memory_order_relaxed);
}
kernel void walks(device float *y [[buffer(0)]], const device float *x [[buffer(1)]]) {
    float sum = 0;
    for (const device float *p = x; p != x + 8; p++) {
        sum += *p;
    }
    y[0] = sum;
}
kernel void arrays(device float *x [[buffer(0)]], threadgroup float *t [[threadgroup(0)]],
                   uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    float a[8];
    for (uint k = 0; k < 8; k++) {
        a[k] = float(k * i);
    }
    s[i] = a[i % 8];
    t[i] = a[7 - i % 8];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i] + t[63 - i];
}
constant float table[4] = {1, 2, 3, 4};
kernel void local_table(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    const float own[3] = {1, 2, 3};
    x[i] = table[i % 4] + own[i % 3];
}
kernel void tile(device float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    simdgroup_store(m, y, 8);
}
kernel void shared_tile(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                        uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    s[i + 32] = x[i + 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 m;
    simdgroup_load(m, s, 8);
    simdgroup_store(m, y, 8);
}
kernel void unused_lane_reads_nothing(device float *y [[buffer(0)]], device float *x [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    y[i] = i < 32 ? x[i] : 0;
}
kernel void two_roots(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    device float *p = i & 1 ? x : y;
    p[i] = 1;
}
struct settings {
    float a, b;
    uint n[2];
};
kernel void members(device float *y [[buffer(0)]], constant settings &s [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    y[i] = s.a + s.b + float(s.n[i & 1]);
    y[i + s.n[1]] = 1;
}
constant uint first_pair[2] = {10, 6};
constant uint second_pair[2] = {6, 7};
kernel void one_of_two_pairs(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    constant const uint *at = i < 2 ? &first_pair[i] : &second_pair[i - 2];
    x[i] = *at;
}
kernel void table_or_argument(device uint *x [[buffer(0)]], constant uint *given [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    constant const uint *at = i < 2 ? &given[i] : &second_pair[i - 2];
    x[i] = *at;
}
