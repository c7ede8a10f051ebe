// Races in device memory: within a threadgroup, between threadgroups, fences that are too weak.
// SANITIZE: race
// RUN: kernel=in_a_threadgroup threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=barrier_of_the_other_memory threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=barrier_without_flag threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=in_a_simdgroup threads=32 group=32
// ARG 0: f32[32]
// RUN: kernel=simdgroup_barrier_of_two threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=other_threadgroup threads=256 group=64
// ARG 0: f32[256]
// RUN: kernel=other_threadgroup_despite_barrier threads=256 group=64
// ARG 0: f32[256]
// RUN: kernel=one_element threads=256 group=64
// ARG 0: f32[1]
// RUN: kernel=sum_without_atomics threads=256 group=64
// ARG 0: f32[1]
// RUN: kernel=overlapping_rows threads=256 group=64
// ARG 0: f32[260]
// RUN: kernel=same_memory_twice threads=64 group=64
// ARG 0: bytes = addr:16 addr:16
// ARG 16: f32[64]
// RUN: kernel=stencil_of_a_grid threads=256 group=64
// ARG 0: f32[258]
// RUN: kernel=plain_against_atomic threads=256 group=64
// ARG 0: u32[1]
// ARG 1: u32[256]
// RUN: kernel=plain_store_against_atomic threads=256 group=64
// ARG 0: u32[1]
// RUN: kernel=halves threads=64 group=64
// ARG 0: f16[65]
// RUN: kernel=bytes threads=64 group=64
// ARG 0: u8[65]
// RUN: kernel=words_of_bytes threads=64 group=64
// ARG 0: u8[64]
// RUN: kernel=packed_vectors threads=64 group=64
// ARG 0: f32[196]
// RUN: kernel=vectors threads=64 group=64
// ARG 0: f32[260]
// RUN: kernel=tile_twice threads=64 group=32
// ARG 0: f32[64]
// RUN: kernel=tiles_that_overlap threads=64 group=64
// ARG 0: f32[128]
// RUN: kernel=argument_buffer threads=64 group=64
// ARG 0: bytes = addr:16
// ARG 16: f32[64]
// RUN: kernel=relaxed_counter threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=release_without_acquire threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=acquire_without_release threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=fence_of_the_other_memory threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=fence_of_a_threadgroup threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=relaxed_fence threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=store_behind_the_fence threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=others_behind_no_barrier threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=others_before_no_barrier threads=256 group=64
// ARG 0: f32[256]
// ARG 1: u32[1]
// ARG 2: f32[1]
// RUN: kernel=in_place_transpose threads=16,16 group=8,8
// ARG 0: f32[256]
// RUN: kernel=queue_without_atomics threads=64 group=64
// ARG 0: u32[65]
// RUN: kernel=in_a_helper threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=load_of_the_next threads=128 group=64
// ARG 0: f32[129]
// RUN: kernel=flag_as_plain_memory threads=128 group=64
// ARG 0: u32[2]
// RUN: kernel=scattered threads=128 group=64
// ARG 0: u32[8]
// RUN: kernel=two_statements threads=64 group=64
// ARG 0: f32[128]
#include <metal_stdlib>
using namespace metal;

kernel void in_a_threadgroup(device float *x [[buffer(0)]],
                             uint i [[thread_position_in_threadgroup]]) {
    x[i] = float(i);
    float other = x[63 - i]; // FINDS: race
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = other;
}
kernel void barrier_of_the_other_memory(device float *x [[buffer(0)]],
                                        uint i [[thread_position_in_threadgroup]]) {
    x[i] = float(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float other = x[63 - i]; // FINDS: race
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = other;
}
kernel void barrier_without_flag(device float *x [[buffer(0)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    x[i] = float(i);
    threadgroup_barrier(mem_flags::mem_none);
    float other = x[63 - i]; // FINDS: race
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = other;
}
kernel void in_a_simdgroup(device float *x [[buffer(0)]],
                           uint i [[thread_position_in_threadgroup]]) {
    x[i] = float(i);
    float other = x[31 - i]; // FINDS: race
    simdgroup_barrier(mem_flags::mem_device);
    x[i] = other;
}
kernel void simdgroup_barrier_of_two(device float *x [[buffer(0)]],
                                     uint i [[thread_position_in_threadgroup]]) {
    x[i] = float(i);
    simdgroup_barrier(mem_flags::mem_device);
    float other = x[63 - i]; // FINDS: race
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = other;
}
kernel void other_threadgroup(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float(i);
    float other = x[255 - i]; // FINDS: race
    if (other == -1) {
        x[i] = 0;
    }
}
kernel void other_threadgroup_despite_barrier(device float *x [[buffer(0)]],
                                              uint i [[thread_position_in_grid]]) {
    x[i] = float(i);
    threadgroup_barrier(mem_flags::mem_device);
    float other = x[(i + 64) % 256]; // FINDS: race
    if (other == -1) {
        x[i] = 0;
    }
}
kernel void one_element(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[0] = float(i); // FINDS: race
}
kernel void sum_without_atomics(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                                uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        x[0] += float(i); // FINDS: race
    }
}
kernel void overlapping_rows(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 2; k++) {
        x[i + k] = float(i * 2 + k); // FINDS: race
    }
}
struct two_names {
    const device float *in;
    device float *out;
};
kernel void same_memory_twice(constant two_names &a [[buffer(0)]],
                              uint i [[thread_position_in_grid]]) {
    a.out[i] = a.in[63 - i] + 1; // FINDS: race
}
kernel void stencil_of_a_grid(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float sum = x[i] + x[i + 2];
    threadgroup_barrier(mem_flags::mem_device);
    x[i + 1] = sum + 1; // FINDS: race
}
kernel void plain_against_atomic(device atomic_uint *count [[buffer(0)]],
                                 device uint *x [[buffer(1)]],
                                 uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    x[i] = *(device uint *)count; // FINDS: race
}
kernel void plain_store_against_atomic(device atomic_uint *count [[buffer(0)]],
                                       uint i [[thread_position_in_grid]]) {
    if (i == 70) {
        *(device uint *)count = 1; // FINDS: race
    }
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}
kernel void halves(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = half(i);
    x[i + 1] = half(2 * i); // FINDS: race
}
kernel void bytes(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = uchar(i);
    x[i + 1] = uchar(2 * i); // FINDS: race
}
kernel void words_of_bytes(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = uchar(i);
    if (i % 4 == 0) {
        *(device uint *)(x + i) = 7; // FINDS: race
    }
}
kernel void packed_vectors(device packed_float3 *x [[buffer(0)]],
                           uint i [[thread_position_in_grid]]) {
    x[i] = packed_float3(i, i, i);
    ((device float *)x)[3 * i + 3] = 100; // FINDS: race
}
kernel void vectors(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float4(i);
    ((device float *)x)[4 * i + 6] = 100; // FINDS: race
}
kernel void tile_twice(device float *x [[buffer(0)]], uint g [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 tile = make_filled_simdgroup_matrix<float, 8, 8>(float(g));
    simdgroup_store(tile, x, 8); // FINDS: race
}
kernel void tiles_that_overlap(device float *x [[buffer(0)]],
                               uint g [[simdgroup_index_in_threadgroup]]) {
    simdgroup_float8x8 tile = make_filled_simdgroup_matrix<float, 8, 8>(float(g + 1));
    simdgroup_store(tile, x + 56 * g, 8); // FINDS: race
}
struct arguments {
    device float *x;
};
kernel void argument_buffer(device arguments &a [[buffer(0)]],
                            uint i [[thread_position_in_grid]]) {
    a.x[i] = float(i);
    float other = a.x[63 - i]; // FINDS: race
    if (other == -1) {
        a.x[i] = 0;
    }
}
// Every threadgroup leaves a number; the last one that comes adds them up. What is missing differs.
static bool comes_last(device atomic_uint *count) {
    return atomic_fetch_add_explicit(count, 1, memory_order_relaxed) == 3;
}
kernel void relaxed_counter(device float *part [[buffer(0)]],
                            device atomic_uint *count [[buffer(1)]],
                            device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]],
                            uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        if (comes_last(count)) {
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void release_without_acquire(device float *part [[buffer(0)]],
                                    device atomic_uint *count [[buffer(1)]],
                                    device float *sum [[buffer(2)]],
                                    uint i [[thread_position_in_grid]],
                                    uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
        if (comes_last(count)) {
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void acquire_without_release(device float *part [[buffer(0)]],
                                    device atomic_uint *count [[buffer(1)]],
                                    device float *sum [[buffer(2)]],
                                    uint i [[thread_position_in_grid]],
                                    uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        if (comes_last(count)) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_acquire, thread_scope_device);
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void fence_of_the_other_memory(device float *part [[buffer(0)]],
                                      device atomic_uint *count [[buffer(1)]],
                                      device float *sum [[buffer(2)]],
                                      uint i [[thread_position_in_grid]],
                                      uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_device);
        if (comes_last(count)) {
            atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst,
                                thread_scope_device);
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void fence_of_a_threadgroup(device float *part [[buffer(0)]],
                                   device atomic_uint *count [[buffer(1)]],
                                   device float *sum [[buffer(2)]],
                                   uint i [[thread_position_in_grid]],
                                   uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_threadgroup);
        if (comes_last(count)) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst,
                                thread_scope_threadgroup);
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void relaxed_fence(device float *part [[buffer(0)]], device atomic_uint *count [[buffer(1)]],
                          device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]],
                          uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        part[i / 64] = float(i);
        atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed, thread_scope_device);
        if (comes_last(count)) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed, thread_scope_device);
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void store_behind_the_fence(device float *part [[buffer(0)]],
                                   device atomic_uint *count [[buffer(1)]],
                                   device float *sum [[buffer(2)]],
                                   uint i [[thread_position_in_grid]],
                                   uint l [[thread_index_in_threadgroup]]) {
    if (l == 0) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        part[i / 64] = float(i);
        if (comes_last(count)) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            sum[0] = part[0] + part[3]; // FINDS: race
        }
    }
}
kernel void others_behind_no_barrier(device float *part [[buffer(0)]],
                                     device atomic_uint *count [[buffer(1)]],
                                     device float *sum [[buffer(2)]],
                                     uint i [[thread_position_in_grid]],
                                     uint l [[thread_index_in_threadgroup]]) {
    threadgroup bool is_last;
    if (l == 0) {
        part[i / 64] = float(i);
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        is_last = comes_last(count);
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (is_last && l == 40) {
        sum[0] = part[0] + part[3]; // FINDS: race
    }
}
kernel void others_before_no_barrier(device float *part [[buffer(0)]],
                                     device atomic_uint *count [[buffer(1)]],
                                     device float *sum [[buffer(2)]],
                                     uint i [[thread_position_in_grid]],
                                     uint l [[thread_index_in_threadgroup]]) {
    part[i] = float(i);
    if (l == 0) {
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        if (comes_last(count)) {
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            for (uint k = 0; k < 256; k++) {
                sum[0] += part[k]; // FINDS: race
            }
        }
    }
}
kernel void in_place_transpose(device float *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) {
    float v = x[p.x * 16 + p.y];
    x[p.y * 16 + p.x] = v + 1; // FINDS: race
}
kernel void queue_without_atomics(device uint *x [[buffer(0)]],
                                  uint i [[thread_position_in_grid]]) {
    uint at = x[0];
    x[0] = at + 1; // FINDS: race
    if (at < 64 && i > 64) {
        x[1 + at] = i;
    }
}
static void put(device float *x, uint i, float v) {
    x[i / 2] = v; // FINDS: race
}
kernel void in_a_helper(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    put(x, i, float(i));
}
kernel void load_of_the_next(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i + 1] + 1; // FINDS: race
}
kernel void flag_as_plain_memory(device uint *x [[buffer(0)]],
                                 uint i [[thread_position_in_grid]]) {
    if (i == 0) {
        x[1] = 7;
        x[0] = 1;
    }
    if (i == 64 && x[0] == 2) { // FINDS: race
        x[1] = 8;
    }
}
kernel void scattered(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[(i * 7) % 8] = i; // FINDS: race
}
kernel void two_statements(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[2 * i] = 1;
    if (i) {
        x[2 * i - 2] = 2; // FINDS: race
    }
}
