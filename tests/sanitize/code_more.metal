// Smaller idioms of public kernels: mistakes and the same kernels without them.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic
// RUN: kernel=ushort_vector_shift_wrong threads=8 group=8
// ARG 0: u16[32] = i
// ARG 1: u16[32]
// RUN: kernel=ushort_vector_shift_right threads=8 group=8
// ARG 0: u16[32] = i
// ARG 1: u16[32]
// RUN: kernel=shift_by_a_difference_wrong threads=32 group=32
// ARG 0: u32[32] = i
// ARG 1: u32[32]
// RUN: kernel=shift_by_a_difference_right threads=32 group=32
// ARG 0: u32[32] = i
// ARG 1: u32[32]
// RUN: kernel=long_shift_wrong threads=8 group=8
// ARG 0: u64[8] = i
// ARG 1: u64[8]
// RUN: kernel=long_shift_right threads=8 group=8
// ARG 0: u64[8] = i
// ARG 1: u64[8]
// RUN: kernel=vector_division_wrong threads=8 group=8
// ARG 0: i32[32] = i
// ARG 1: i32[32] = i % 5
// ARG 2: i32[32]
// RUN: kernel=vector_division_right threads=8 group=8
// ARG 0: i32[32] = i
// ARG 1: i32[32] = i % 5 + 1
// ARG 2: i32[32]
// RUN: kernel=half_to_char_wrong threads=32 group=32
// ARG 0: f16[32] = i * 10
// ARG 1: i8[32]
// RUN: kernel=half_to_char_right threads=32 group=32
// ARG 0: f16[32] = i * 10
// ARG 1: i8[32]
// RUN: kernel=struct_in_threadgroup_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=struct_in_threadgroup_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=member_by_member_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=member_by_member_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=bytes_of_words_wrong threads=64 group=64
// ARG 0: u8[128] = i
// ARG 1: u8[128]
// RUN: kernel=bytes_of_words_right threads=64 group=64
// ARG 0: u8[128] = i
// ARG 1: u8[128]
// RUN: kernel=component_of_shared_vector_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=component_of_shared_vector_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=shuffled_from_unwritten_wrong threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=shuffled_from_unwritten_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=atomic_past_the_end_wrong threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[10]
// RUN: kernel=atomic_past_the_end_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[10]
// RUN: kernel=packed_rows_wrong threads=32 group=32
// ARG 0: f32[30] = i
// ARG 1: f32[32]
// RUN: kernel=packed_rows_right threads=32 group=32
// ARG 0: f32[30] = i
// ARG 1: f32[32]
// RUN: kernel=ring_of_slots_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=ring_of_slots_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=loads_before_the_store_wrong threads=64 group=64
// ARG 0: f32[64] = i
// RUN: kernel=loads_before_the_store_right threads=64 group=64
// ARG 0: f32[64] = i
// RUN: kernel=barrier_in_a_function_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=barrier_in_a_function_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=work_items_in_turn_wrong threads=32 group=32
// ARG 0: u32[1]
// ARG 1: u32[64]
// RUN: kernel=work_items_in_turn_right threads=32 group=32
// ARG 0: u32[1]
// ARG 1: u32[64]
// RUN: kernel=elected_lane_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[2]
// RUN: kernel=elected_lane_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[2]
// RUN: kernel=kept_for_the_next_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=kept_for_the_next_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=rows_of_a_matrix_wrong threads=8,8 group=8,8
// ARG 0: f32[128] = i
// ARG 1: f32[64]
// RUN: kernel=rows_of_a_matrix_right threads=8,8 group=8,8
// ARG 0: f32[128] = i
// ARG 1: f32[64]
// RUN: kernel=products_of_lanes_wrong threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=products_of_lanes_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=tile_of_bounds_wrong threads=32 group=32
// ARG 0: f16[128] = i
// ARG 1: f16[64]
// RUN: kernel=tile_of_bounds_right threads=32 group=32
// ARG 0: f16[128] = i
// ARG 1: f16[64]
// RUN: kernel=separate_halves_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=tail_by_mask_right threads=16 group=16
// ARG 0: f32[50] = i
// ARG 1: f32[50]
// ARG 2: u32 = 50
// RUN: kernel=unused_tail_of_a_table_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=guarded_division_right threads=32 group=32
// ARG 0: i32[32] = i % 3
// ARG 1: i32[32]
// RUN: kernel=wrapping_index_right threads=32 group=32
// ARG 0: u32[32] = i
// ARG 1: u32[32]
// RUN: kernel=atomics_then_barrier_then_plain_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[64]
// RUN: kernel=barrier_in_a_uniform_branch_right threads=128 group=64
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// ARG 2: u32 = 1
// RUN: kernel=lanes_of_a_part_right threads=48 group=48
// ARG 0: f32[48] = i
// ARG 1: f32[48]
// RUN: kernel=own_slot_of_all_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=stored_by_all_the_same_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=rows_by_threadgroups_right threads=256 group=64
// ARG 0: f32[256] = i
// RUN: kernel=filled_by_tiles_right threads=32 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=one_thread_of_each_group_right threads=64 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=two_variables_one_barrier_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=last_element_by_clamping_right threads=64 group=64
// ARG 0: f32[61] = i
// ARG 1: f32[61]
// ARG 2: u32 = 61
// RUN: kernel=some_written_all_loaded_right threads=32 group=32
// ARG 0: f32[20] = i
// ARG 1: f32[1]
// ARG 2: u32 = 20
#include <metal_stdlib>
using namespace metal;
struct item {
    float key;
    ushort at;
    uchar kind;
};
kernel void ushort_vector_shift_wrong(device const ushort4 *x [[buffer(0)]], device ushort4 *out [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    out[i] = x[i] >> ushort4(0, 4, 8, 16); // FINDS: arithmetic
}
kernel void ushort_vector_shift_right(device const ushort4 *x [[buffer(0)]], device ushort4 *out [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    out[i] = x[i] >> ushort4(0, 4, 8, 12);
}
kernel void shift_by_a_difference_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                        uint i [[thread_position_in_grid]]) {
    int by = 15 - int(i);
    out[i] = x[i] << by; // FINDS: arithmetic
}
kernel void shift_by_a_difference_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                        uint i [[thread_position_in_grid]]) {
    int by = abs(15 - int(i));
    out[i] = x[i] << by;
}
kernel void long_shift_wrong(device const ulong *x [[buffer(0)]], device ulong *out [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    out[i] = x[i] >> (64 - i); // FINDS: arithmetic
}
kernel void long_shift_right(device const ulong *x [[buffer(0)]], device ulong *out [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    out[i] = i ? x[i] >> (64 - i) : 0;
}
kernel void vector_division_wrong(device const int4 *a [[buffer(0)]], device const int4 *b [[buffer(1)]],
                                  device int4 *out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = a[i] / b[i]; // FINDS: arithmetic
}
kernel void vector_division_right(device const int4 *a [[buffer(0)]], device const int4 *b [[buffer(1)]],
                                  device int4 *out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = a[i] / b[i];
}
kernel void half_to_char_wrong(device const half *x [[buffer(0)]], device char *out [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    out[i] = char(x[i]); // FINDS: arithmetic
}
kernel void half_to_char_right(device const half *x [[buffer(0)]], device char *out [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    out[i] = char(min(x[i], 127.0h));
}
kernel void struct_in_threadgroup_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                        uint i [[thread_index_in_threadgroup]]) {
    threadgroup item items[64];
    items[i].key = x[i];
    items[i].kind = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    item other = items[63 - i];
    out[i] = other.key + other.at + other.kind; // FINDS: uninitialised
}
kernel void struct_in_threadgroup_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                        uint i [[thread_index_in_threadgroup]]) {
    threadgroup item items[64];
    items[i].key = x[i];
    items[i].at = ushort(i);
    items[i].kind = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    item other = items[63 - i];
    out[i] = other.key + other.at + other.kind;
}
kernel void member_by_member_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]]) {
    threadgroup item items[32];
    if (i < 32) {
        items[i].key = x[i];
    } else {
        items[i - 32].key = x[i]; // FINDS: race
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = items[i % 32].key;
}
kernel void member_by_member_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]]) {
    threadgroup item items[32];
    if (i < 32) {
        items[i].key = x[i];
    } else {
        items[i - 32].at = ushort(i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = items[i % 32].key + items[i % 32].at;
}
kernel void bytes_of_words_wrong(device const uchar *x [[buffer(0)]], device uchar *out [[buffer(1)]],
                                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup uchar s[128];
    for (uint j = 0; j < 2; j++) {
        s[2 * i + j] = x[2 * i + j];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    uchar2 v = *(threadgroup uchar2 *)(s + (2 * i + 66) % 128); // FINDS: race uninitialised
    out[2 * i] = v.x;
    out[2 * i + 1] = v.y;
}
kernel void bytes_of_words_right(device const uchar *x [[buffer(0)]], device uchar *out [[buffer(1)]],
                                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup uchar s[128];
    for (uint j = 0; j < 2; j++) {
        s[2 * i + j] = x[2 * i + j];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uchar2 v = *(threadgroup uchar2 *)(s + (2 * i + 66) % 128);
    out[2 * i] = v.x;
    out[2 * i + 1] = v.y;
}
kernel void component_of_shared_vector_wrong(device const float *x [[buffer(0)]],
                                             device float *out [[buffer(1)]],
                                             uint i [[thread_index_in_threadgroup]]) {
    threadgroup float4 s[16];
    s[i / 4][i % 4] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[15 - i / 4].x;
    if (i % 4 == 0) {
        s[i / 4].x = v; // FINDS: race
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[i / 4][i % 4];
}
kernel void component_of_shared_vector_right(device const float *x [[buffer(0)]],
                                             device float *out [[buffer(1)]],
                                             uint i [[thread_index_in_threadgroup]]) {
    threadgroup float4 s[16];
    s[i / 4][i % 4] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[15 - i / 4].x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 4 == 0) {
        s[i / 4].x = v;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[i / 4][i % 4];
}
kernel void shuffled_from_unwritten_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                          ushort lane [[thread_index_in_simdgroup]]) {
    float v;
    if (lane >= 8) {
        v = x[lane];
    }
    float w = simd_shuffle_xor(v, 8);
    out[lane] = w; // FINDS: uninitialised
}
kernel void shuffled_from_unwritten_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                          ushort lane [[thread_index_in_simdgroup]]) {
    float v;
    if (lane >= 8) {
        v = x[lane];
    }
    float w = simd_shuffle(v, lane | 8);
    out[lane] = w;
}
kernel void atomic_past_the_end_wrong(device const uint *x [[buffer(0)]],
                                      device atomic_uint *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    uint bin = x[i] / 6;
    atomic_fetch_max_explicit(&out[bin], x[i], memory_order_relaxed); // FINDS: bounds
}
kernel void atomic_past_the_end_right(device const uint *x [[buffer(0)]],
                                      device atomic_uint *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    uint bin = x[i] / 7;
    atomic_fetch_max_explicit(&out[bin], x[i], memory_order_relaxed);
}
kernel void packed_rows_wrong(device const packed_float3 *x [[buffer(0)]], device float *out [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    if (i <= 10) {
        float3 v = x[i]; // FINDS: bounds
        out[i] = v.x + v.y + v.z;
    }
}
kernel void packed_rows_right(device const packed_float3 *x [[buffer(0)]], device float *out [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    if (i < 10) {
        float3 v = x[i];
        out[i] = v.x + v.y + v.z;
    }
}
kernel void ring_of_slots_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                uint i [[thread_index_in_threadgroup]]) {
    threadgroup float ring[3][64];
    ring[0][i] = x[i];
    ring[1][i] = x[i] + 1;
    float sum = 0;
    for (uint k = 0; k < 6; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        ring[(k + 3) % 3][i] = x[i] + k; // FINDS: race
        sum += ring[k % 3][63 - i];
    }
    out[i] = sum; // FINDS: uninitialised
}
kernel void ring_of_slots_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                uint i [[thread_index_in_threadgroup]]) {
    threadgroup float ring[3][64];
    ring[0][i] = x[i];
    ring[1][i] = x[i] + 1;
    float sum = 0;
    for (uint k = 0; k < 6; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        ring[(k + 2) % 3][i] = x[i] + k;
        sum += ring[k % 3][63 - i];
    }
    out[i] = sum;
}
kernel void loads_before_the_store_wrong(device float *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    float a = x[i], b = x[63 - i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = a + b; // FINDS: race
}
kernel void loads_before_the_store_right(device float *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    float a = x[i], b = x[63 - i];
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = a + b;
}
inline float barrier_in_a_function_wrong_turn(threadgroup float *s, float v, uint i) {
    s[i] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    return s[63 - i];
}
kernel void barrier_in_a_function_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                        uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    if (x[i] > 3) {
        out[i] = barrier_in_a_function_wrong_turn(s, x[i], i); // FINDS: uninitialised
    }
}
inline float barrier_in_a_function_right_turn(threadgroup float *s, float v, uint i) {
    s[i] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return s[63 - i];
}
kernel void barrier_in_a_function_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                        uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
        out[i] = barrier_in_a_function_right_turn(s, x[i], i);
}
kernel void work_items_in_turn_wrong(device atomic_uint *next [[buffer(0)]], device uint *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint mine;
    for (uint round = 0; round < 2; round++) {
        if (i == 0) {
            mine = atomic_fetch_add_explicit(next, 32u, memory_order_relaxed); // FINDS: race
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint at = mine + i;
        if (at < 64) {
            out[at] = at;
        }
    }
}
kernel void work_items_in_turn_right(device atomic_uint *next [[buffer(0)]], device uint *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]]) {
    threadgroup uint mine;
    for (uint round = 0; round < 2; round++) {
        if (i == 0) {
            mine = atomic_fetch_add_explicit(next, 32u, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint at = mine + i;
        if (at < 64) {
            out[at] = at;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
kernel void elected_lane_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                               uint i [[thread_position_in_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    float s = simd_sum(x[i]);
    if (i % 16 == 0) {
        out[simd] = s + i; // FINDS: race
    }
}
kernel void elected_lane_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                               uint i [[thread_position_in_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    float s = simd_sum(x[i]);
    if (simd_is_first()) {
        out[simd] = s;
    }
}
kernel void kept_for_the_next_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    uint i [[thread_index_in_threadgroup]]) {
    float window[4];
    for (int k = 0; k < 3; k++) {
        window[k] = x[(i + k) % 64];
    }
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        sum += window[(k + i) % 4];
    }
    out[i] = sum; // FINDS: uninitialised
}
kernel void kept_for_the_next_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    uint i [[thread_index_in_threadgroup]]) {
    float window[4];
    for (int k = 0; k < 4; k++) {
        window[k] = x[(i + k) % 64];
    }
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        sum += window[(k + i) % 4];
    }
    out[i] = sum;
}
kernel void rows_of_a_matrix_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float s[8][9];
    s[t.y][t.x] = x[t.y * 8 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t.y * 8 + t.x] = s[t.y][t.x + 1]; // FINDS: uninitialised
}
kernel void rows_of_a_matrix_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float s[8][9];
    s[t.y][t.x] = x[t.y * 8 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t.y * 8 + t.x] = s[t.x][t.y];
}
kernel void products_of_lanes_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    uint lane [[thread_index_in_simdgroup]]) {
    float v = x[lane];
    if (lane >= 4) {
        v = simd_shuffle_up(v, 4); // FINDS: lanes
    }
    out[lane] = v;
}
kernel void products_of_lanes_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    uint lane [[thread_index_in_simdgroup]]) {
    float v = x[lane];
    float before = simd_shuffle_up(v, 4);
    v = lane >= 4 ? before : v;
    out[lane] = v;
}
kernel void tile_of_bounds_wrong(device const half *x [[buffer(0)]], device half *out [[buffer(1)]]) {
    simdgroup_half8x8 m;
    simdgroup_load(m, x + 9, 16); // FINDS: bounds
    simdgroup_store(m, out, 8);
}
kernel void tile_of_bounds_right(device const half *x [[buffer(0)]], device half *out [[buffer(1)]]) {
    simdgroup_half8x8 m;
    simdgroup_load(m, x + 8, 16);
    simdgroup_store(m, out, 8);
}
kernel void separate_halves_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[64];
    threadgroup float *own = s + simd * 32;
    own[lane] = x[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = own[31 - lane];
}
kernel void tail_by_mask_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                               constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    float4 v = 0;
    uint at = 4 * i;
    for (uint k = 0; k < 4 && at + k < n; k++) {
        v[k] = x[at + k];
    }
    v = v * 2;
    for (uint k = 0; k < 4 && at + k < n; k++) {
        out[at + k] = v[k];
    }
}
kernel void unused_tail_of_a_table_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                         uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[i + 32 * (i & 1)];
    out[i] = i & 1 ? x[i] : v;
}
kernel void guarded_division_right(device const int *x [[buffer(0)]], device int *out [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) {
    out[i] = x[i] == 0 ? 0 : 100 / x[i];
}
kernel void wrapping_index_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                 uint i [[thread_position_in_grid]]) {
    uint back = (i - 5) % 32;
    out[i] = x[back] + x[(i * 2654435761u) >> 27];
}
kernel void atomics_then_barrier_then_plain_right(device const uint *x [[buffer(0)]],
                                                  device uint *out [[buffer(1)]],
                                                  uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint total;
    if (i == 0) {
        atomic_store_explicit(&total, 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&total, x[i], memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = *(threadgroup uint *)&total;
}
kernel void barrier_in_a_uniform_branch_right(device const float *x [[buffer(0)]],
                                              device float *out [[buffer(1)]], constant uint &turn [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]], uint at [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = x[at];
    if (turn) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[at] = s[63 - i];
    } else {
        out[at] = s[i];
    }
}
kernel void lanes_of_a_part_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    float v = x[i];
    for (ushort step = 8; step > 0; step /= 2) {
        v += simd_shuffle_xor(v, step);
    }
    out[i] = v + (lane < 16 ? simd_shuffle(v, lane ^ 1) : 0);
}
kernel void own_slot_of_all_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    for (uint k = 0; k < 4; k++) {
        s[i] = x[i] * k;
        out[i] += s[i];
    }
}
kernel void stored_by_all_the_same_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                         uint i [[thread_index_in_threadgroup]]) {
    threadgroup float scale;
    scale = x[7] * 2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = x[i] * scale;
}
kernel void rows_by_threadgroups_right(device float *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]],
                                       uint row [[threadgroup_position_in_grid]]) {
    device float *own = x + row * 64;
    float a = own[i], b = own[63 - i];
    threadgroup_barrier(mem_flags::mem_device);
    own[i] = a - b;
}
kernel void filled_by_tiles_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[8 * 12];
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    simdgroup_store(m, s + 2, 12);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = lane; j < 64; j += 32) {
        out[j] = s[2 + j / 8 * 12 + j % 8];
    }
}
kernel void one_thread_of_each_group_right(device const float *x [[buffer(0)]],
                                           device float *out [[buffer(1)]], uint i [[thread_index_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
    if (i == 0) {
        for (uint k = 0; k < 32; k++) {
            out[group * 32 + k] = x[group * 32 + k] + (k ? out[group * 32 + k - 1] : 0);
        }
    }
}
kernel void two_variables_one_barrier_right(device const float *x [[buffer(0)]],
                                            device float *out [[buffer(1)]],
                                            uint i [[thread_index_in_threadgroup]]) {
    threadgroup float a[64], b[64];
    a[i] = x[i];
    b[63 - i] = x[i] * 2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = a[63 - i] + b[i];
}
kernel void last_element_by_clamping_right(device const float *x [[buffer(0)]],
                                           device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    float v = x[min(i, n - 1)], next = x[min(i + 1, n - 1)];
    if (i < n) {
        out[i] = next - v;
    }
}
kernel void some_written_all_loaded_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                          constant uint &n [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[32];
    if (lane < n) {
        s[lane] = x[lane];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[lane];
    v = lane < n ? v : 0;
    float sum = simd_sum(v);
    if (lane == 0) {
        out[0] = sum;
    }
}
