// Races in threadgroup memory: missing barriers, wrong flags, lanes, atomics, tiles.
// SANITIZE: race
// RUN: kernel=no_barrier threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=no_barrier_backwards threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=within_a_simdgroup threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=wrong_flag threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=no_flag threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=simdgroup_barrier_is_too_little threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=simdgroup_barrier_without_flag threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=simdgroup_barrier_wrong_flag threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=one_cell threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=one_cell_of_lanes threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=store_after_loads threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=store_after_own_load threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=reduction_last_step threads=128 group=128
// ARG 0: f32[128]
// RUN: kernel=reduction_all_steps threads=128 group=128
// ARG 0: f32[128]
// RUN: kernel=reduction_of_a_simdgroup threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=scan_in_place threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=double_buffer_one_barrier threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=reused_too_early threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=broadcast_of_a_variable threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=dynamic_memory threads=64 group=64
// ARG 0: f32[64]
// TG 0: 256
// RUN: kernel=halves threads=64 group=64
// ARG 0: f16[64]
// RUN: kernel=bytes threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=vectors threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=element_of_a_vector threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=plain_against_atomic threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=plain_store_against_atomic threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=atomic_against_plain_load threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=relaxed_flag threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=tile_store_then_lanes threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=lanes_then_tile_load threads=32 group=32
// ARG 0: f32[64]
// RUN: kernel=tiles_of_two_simdgroups threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=transpose threads=256 group=16,16
// ARG 0: f32[256]
// RUN: kernel=histogram_without_atomics threads=64 group=64
// ARG 0: u32[64]
// RUN: kernel=in_a_helper threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=loop_carried threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_a_branch threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=struct_copy threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=stencil_in_place threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=shuffle_is_no_barrier threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=fence_is_no_barrier threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=all_load_then_one_line_is_stored threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=all_load_then_one_stores threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=all_load_another_simdgroup_stores threads=64 group=64
// ARG 0: f32[64]
#include <metal_stdlib>
using namespace metal;

kernel void no_barrier(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    x[i] = s[63 - i]; // FINDS: race
}
kernel void no_barrier_backwards(device float *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[(i + 32) % 64];
    s[i] = 2; // FINDS: race
}
kernel void within_a_simdgroup(device float *x [[buffer(0)]],
                               uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = float(i);
    x[i] = s[i ^ 1]; // FINDS: race
}
kernel void wrong_flag(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = s[63 - i]; // FINDS: race
}
kernel void no_flag(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    threadgroup_barrier(mem_flags::mem_none);
    x[i] = s[63 - i]; // FINDS: race
}
kernel void simdgroup_barrier_is_too_little(device float *x [[buffer(0)]],
                                            uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i]; // FINDS: race
}
kernel void simdgroup_barrier_without_flag(device float *x [[buffer(0)]],
                                           uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = float(i);
    simdgroup_barrier(mem_flags::mem_none);
    x[i] = s[31 - i]; // FINDS: race
}
kernel void simdgroup_barrier_wrong_flag(device float *x [[buffer(0)]],
                                         uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = float(i);
    simdgroup_barrier(mem_flags::mem_device);
    x[i] = s[31 - i]; // FINDS: race
}
kernel void one_cell(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s;
    s = float(i); // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s;
}
kernel void one_cell_of_lanes(device float *x [[buffer(0)]],
                              uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[8];
    s[i / 4] = float(i); // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i / 4];
}
kernel void store_after_loads(device float *x [[buffer(0)]],
                              uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s;
    if (i == 0) {
        s = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s;
    if (i == 63) {
        s = 2; // FINDS: race
    }
}
kernel void store_after_own_load(device float *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s;
    if (i == 0) {
        s = 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s;
    if (i == 0) {
        s = 2; // FINDS: race
    }
}
kernel void reduction_last_step(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[128];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 64; n > 1; n /= 2) {
        if (i < n) {
            s[i] += s[i + n];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (i == 0) {
        s[0] += s[1];
    }
    x[i] = s[0]; // FINDS: race
}
kernel void reduction_all_steps(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[128];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 64; n > 0; n /= 2) {
        if (i < n) {
            s[i] += s[i + n]; // FINDS: race
        }
    }
    if (i == 0) {
        x[0] = s[0];
    }
}
kernel void reduction_of_a_simdgroup(device float *x [[buffer(0)]],
                                     uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = x[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 16; n > 0; n /= 2) {
        if (i < n) {
            s[i] += s[i + n]; // FINDS: race
        }
    }
    if (i == 0) {
        x[0] = s[0];
    }
}
kernel void scan_in_place(device float *x [[buffer(0)]],
                          uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 1; n < 64; n *= 2) {
        float before = i >= n ? s[i - n] : 0.0f;
        s[i] += before; // FINDS: race
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[i] = s[i];
}
kernel void double_buffer_one_barrier(device float *x [[buffer(0)]],
                                      uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    float sum = 0;
    for (uint round = 0; round < 4; round++) {
        s[i] = x[i] + float(round); // FINDS: race
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += s[63 - i];
    }
    x[i] = sum;
}
kernel void reused_too_early(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float left = s[(i + 63) % 64];
    s[i] = left * 2; // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[63 - i];
}
kernel void broadcast_of_a_variable(device float *x [[buffer(0)]],
                                    uint i [[thread_position_in_threadgroup]]) {
    threadgroup float mean;
    if (i == 0) {
        mean = x[0];
    }
    x[i] = mean; // FINDS: race
}
kernel void dynamic_memory(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]],
                           uint i [[thread_position_in_threadgroup]]) {
    s[i] = float(i);
    x[i] = s[63 - i]; // FINDS: race
}
kernel void halves(device half *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup half s[64];
    s[i] = half(i);
    x[i] = s[i ^ 1]; // FINDS: race
}
kernel void bytes(device uint *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup uchar s[64];
    s[i] = uchar(i);
    x[i] = s[i ^ 3]; // FINDS: race
}
kernel void vectors(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 s[64];
    s[i] = float4(i);
    x[i] = s[63 - i].w; // FINDS: race
}
kernel void element_of_a_vector(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]]) {
    threadgroup float4 s[16];
    ((threadgroup float *)s)[i] = float(i);
    float4 v = s[i / 4]; // FINDS: race
    x[i] = v.x + v.y;
}
kernel void plain_against_atomic(device uint *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint count;
    if (i == 0) {
        *(threadgroup uint *)&count = 0;
    }
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = atomic_load_explicit(&count, memory_order_relaxed);
}
kernel void plain_store_against_atomic(device uint *x [[buffer(0)]],
                                       uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint count;
    atomic_store_explicit(&count, i, memory_order_relaxed);
    if (i == 5) {
        *(threadgroup uint *)&count = 77; // FINDS: race
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = atomic_load_explicit(&count, memory_order_relaxed);
}
kernel void atomic_against_plain_load(device uint *x [[buffer(0)]],
                                      uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint count;
    atomic_store_explicit(&count, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    x[i] = *(threadgroup uint *)&count; // FINDS: race
}
kernel void relaxed_flag(device uint *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint ready;
    threadgroup uint message;
    if (i == 0) {
        atomic_store_explicit(&ready, 0, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 33) {
        message = 7;
        atomic_store_explicit(&ready, 1, memory_order_relaxed);
    }
    if (i == 1 && atomic_load_explicit(&ready, memory_order_relaxed)) {
        x[0] = message; // FINDS: race
    }
}
kernel void tile_store_then_lanes(device float *x [[buffer(0)]],
                                  uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    simdgroup_float8x8 tile = make_filled_simdgroup_matrix<float, 8, 8>(2.0f);
    simdgroup_store(tile, s, 8);
    x[i] = s[i]; // FINDS: race
}
kernel void lanes_then_tile_load(device float *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = 1;
    s[i + 32] = 2;
    simdgroup_float8x8 tile;
    simdgroup_load(tile, s, 8); // FINDS: race
    simdgroup_store(tile, x, 8);
}
kernel void tiles_of_two_simdgroups(device float *x [[buffer(0)]],
                                    uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[64];
    simdgroup_float8x8 tile = make_filled_simdgroup_matrix<float, 8, 8>(2.0f);
    if (g == 1) {
        simdgroup_store(tile, s, 8);
    }
    if (g == 0) {
        simdgroup_load(tile, s, 8); // FINDS: race
        simdgroup_store(tile, x, 8);
    }
}
kernel void transpose(device float *x [[buffer(0)]], uint2 p [[thread_position_in_threadgroup]]) {
    threadgroup float s[16][17];
    s[p.y][p.x] = x[p.y * 16 + p.x];
    x[p.y * 16 + p.x] = s[p.x][p.y]; // FINDS: race
}
kernel void histogram_without_atomics(device uint *x [[buffer(0)]],
                                      uint i [[thread_position_in_threadgroup]]) {
    threadgroup uint bins[4];
    if (i < 4) {
        bins[i] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bins[i % 4] += i; // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = bins[i % 4];
}
static float neighbour(threadgroup float *s, uint i) {
    return s[i ^ 32]; // FINDS: race
}
kernel void in_a_helper(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    x[i] = neighbour(s, i);
}
kernel void loop_carried(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 3; k++) {
        float a = s[(i + 1) % 64];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[i] = a + 1 + float(i); // FINDS: race
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i];
}
kernel void in_a_branch(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    if (i >= 32) {
        s[i - 32] = 1;
    } else {
        x[i] = s[i]; // FINDS: race
    }
}
struct pair {
    float a, b;
};
kernel void struct_copy(device float *x [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup pair s[64];
    pair p = {float(i), 2};
    s[i] = p;
    pair q = s[i ^ 1]; // FINDS: race
    x[i] = q.a + q.b;
}
kernel void stencil_in_place(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[66];
    s[i + 1] = x[i];
    if (i == 0) {
        s[0] = s[65] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[i + 1] = (s[i] + s[i + 2]) / 2; // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = s[i + 1];
}
kernel void shuffle_is_no_barrier(device float *x [[buffer(0)]],
                                  uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = float(i);
    float sum = simd_sum(float(i));
    x[i] = s[i ^ 8] + sum; // FINDS: race
}
kernel void fence_is_no_barrier(device float *x [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = float(i);
    atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst,
                        thread_scope_threadgroup);
    x[i] = s[63 - i]; // FINDS: race
}
kernel void all_load_then_one_line_is_stored(device float *x [[buffer(0)]],
                                             uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    s[i + 32] = i;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[5] + s[37];
    s[i] = v; // FINDS: race
    x[i] = v;
}
kernel void all_load_then_one_stores(device float *x [[buffer(0)]],
                                     uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[i] = x[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[5];
    if (i == 3) {
        s[5] = v + 1; // FINDS: race
    }
    x[i] = v;
}
kernel void all_load_another_simdgroup_stores(device float *x [[buffer(0)]],
                                              uint i [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = 0;
    if (i < 32) {
        v = s[5]; // FINDS: race
        simdgroup_barrier(mem_flags::mem_threadgroup);
        v += s[6];
    }
    if (i == 37) {
        s[5] = v;
    }
    x[i] = v;
}
