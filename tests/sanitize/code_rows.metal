// Norms, softmax, attention, copies and stencils, as public code has them: mistakes and the same kernels without them.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic
// RUN: kernel=row_rounded_up_wrong threads=96 group=32
// ARG 0: f32[90] = i
// ARG 1: f32[3]
// ARG 2: u32 = 30
// RUN: kernel=row_rounded_up_right threads=96 group=32
// ARG 0: f32[90] = i
// ARG 1: f32[3]
// ARG 2: u32 = 30
// RUN: kernel=mean_of_a_row_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=mean_of_a_row_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=scratch_used_twice_wrong threads=128 group=128
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// RUN: kernel=scratch_used_twice_right threads=128 group=128
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// RUN: kernel=halves_of_a_sum_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[1]
// RUN: kernel=halves_of_a_sum_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[1]
// RUN: kernel=returns_too_early_wrong threads=64 group=64
// ARG 0: f32[50] = i
// ARG 1: f32[50]
// ARG 2: u32 = 50
// RUN: kernel=returns_too_early_right threads=64 group=64
// ARG 0: f32[50] = i
// ARG 1: f32[50]
// ARG 2: u32 = 50
// RUN: kernel=lane_thirty_two_wrong threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=lane_thirty_two_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=next_lane_wrong threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=next_lane_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=last_lane_of_few_wrong threads=40 group=40
// ARG 0: f32[40] = i
// ARG 1: f32[40]
// RUN: kernel=last_lane_of_few_right threads=40 group=40
// ARG 0: f32[40] = i
// ARG 1: f32[40]
// RUN: kernel=quads_wrong threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=quads_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=given_by_one_lane_wrong threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=given_by_one_lane_right threads=32 group=32
// ARG 0: f32[32] = i
// ARG 1: f32[32]
// RUN: kernel=mean_of_none_wrong threads=4 group=4
// ARG 0: i32[32] = i
// ARG 1: i32[4]
// ARG 2: i32[5] = i * i > 8 ? 8 : i * i
// RUN: kernel=mean_of_none_right threads=4 group=4
// ARG 0: i32[32] = i
// ARG 1: i32[4]
// ARG 2: i32[5] = 2 * i
// RUN: kernel=least_integer_wrong threads=4 group=4
// ARG 0: i32[4] = i == 2 ? -2147483648 : i
// ARG 1: i32[4]
// RUN: kernel=least_integer_right threads=4 group=4
// ARG 0: i32[4] = i == 2 ? -2147483648 : i
// ARG 1: i32[4]
// RUN: kernel=last_of_none_wrong threads=4 group=4
// ARG 0: f32[8] = i
// ARG 1: f32[4]
// ARG 2: u32[4] = i
// RUN: kernel=last_of_none_right threads=4 group=4
// ARG 0: f32[8] = i
// ARG 1: f32[4]
// ARG 2: u32[4] = i
// RUN: kernel=negative_to_unsigned_wrong threads=8 group=8
// ARG 0: f32[8] = i - 3.5
// ARG 1: u32[8]
// RUN: kernel=negative_to_unsigned_right threads=8 group=8
// ARG 0: f32[8] = i - 3.5
// ARG 1: u32[8]
// RUN: kernel=pixels_wrong threads=8 group=8
// ARG 0: f32[32] = i / 31
// ARG 1: u8[32]
// RUN: kernel=pixels_right threads=8 group=8
// ARG 0: f32[32] = i / 31
// ARG 1: u8[32]
// RUN: kernel=handed_to_a_function_wrong threads=4 group=4
// ARG 0: f32[16] = i
// ARG 1: f32[4]
// RUN: kernel=handed_to_a_function_right threads=4 group=4
// ARG 0: f32[16] = i
// ARG 1: f32[4]
// RUN: kernel=odd_pairs_wrong threads=20 group=20
// ARG 0: f32[33] = i
// ARG 1: f32[33]
// ARG 2: u32 = 33
// RUN: kernel=odd_pairs_right threads=20 group=20
// ARG 0: f32[33] = i
// ARG 1: f32[33]
// ARG 2: u32 = 33
// RUN: kernel=pages_wrong threads=4 group=4
// ARG 0: i32[4] = i == 3 ? -1 : i
// ARG 1: f32[96] = i
// ARG 2: f32[4]
// ARG 3: u32 = 100
// RUN: kernel=pages_right threads=4 group=4
// ARG 0: i32[4] = i == 3 ? -1 : i
// ARG 1: f32[96] = i
// ARG 2: f32[4]
// ARG 3: u32 = 96
// RUN: kernel=vocabulary_wrong threads=2,8 group=2,8
// ARG 0: i32[8] = i
// ARG 1: f32[64] = i
// ARG 2: f32[64]
// RUN: kernel=vocabulary_right threads=2,8 group=2,8
// ARG 0: i32[8] = i
// ARG 1: f32[128] = i
// ARG 2: f32[64]
// RUN: kernel=halo_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=halo_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=halo_in_threadgroup_wrong threads=64 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=halo_in_threadgroup_right threads=64 group=32
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=in_place_wrong threads=128 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// RUN: kernel=in_place_right threads=128 group=32
// ARG 0: f32[128] = i
// ARG 1: f32[128]
// RUN: kernel=tight_triples_wrong threads=4 group=4
// ARG 0: f32[12] = i
// ARG 1: f32[16]
// RUN: kernel=tight_triples_right threads=4 group=4
// ARG 0: f32[16] = i
// ARG 1: f32[16]
// RUN: kernel=dynamic_too_small_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// TG 0: 240
// RUN: kernel=dynamic_too_small_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// TG 0: 256
// RUN: kernel=halves_in_pairs_wrong threads=32 group=32
// ARG 0: f16[65] = i
// ARG 1: f32[32]
// RUN: kernel=halves_in_pairs_right threads=32 group=32
// ARG 0: f16[65] = i
// ARG 1: f32[32]
// RUN: kernel=flag_beside_atomics_wrong threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[1]
// ARG 2: u32[64]
// RUN: kernel=flag_beside_atomics_right threads=64 group=64
// ARG 0: u32[64] = i
// ARG 1: u32[1]
// ARG 2: u32[64]
// RUN: kernel=set_only_sometimes_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// ARG 2: u32 = 3
// RUN: kernel=set_only_sometimes_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// ARG 2: u32 = 3
// RUN: kernel=best_without_a_start_wrong threads=4 group=4
// ARG 0: f32[64] = i
// ARG 1: f32[4]
// RUN: kernel=best_without_a_start_right threads=4 group=4
// ARG 0: f32[64] = i
// ARG 1: f32[4]
// RUN: kernel=same_value_from_all_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: u32[1]
// RUN: kernel=chosen_by_a_flag_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=chosen_by_a_flag_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=loop_of_some_lanes_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=loop_of_some_lanes_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
// RUN: kernel=sequence_of_two_barriers_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[64]
#include <metal_stdlib>
using namespace metal;
inline void add_to(thread float *acc, device const float *x, uint count) {
    for (uint k = 0; k < count; k++) {
        acc[k] += x[k]; // FINDS: bounds
    }
}
inline void add_some(thread float *acc, device const float *x, uint count) {
    for (uint k = 0; k < count; k++) {
        acc[k] += x[k];
    }
}
kernel void row_rounded_up_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                 constant uint &n [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]], uint row [[threadgroup_position_in_grid]]) {
    float v = x[row * n + lane]; // FINDS: bounds
    float most = simd_max(v);
    if (lane == 0) {
        out[row] = most;
    }
}
kernel void row_rounded_up_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                 constant uint &n [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]], uint row [[threadgroup_position_in_grid]]) {
    float v = lane < n ? x[row * n + lane] : -INFINITY;
    float most = simd_max(v);
    if (lane == 0) {
        out[row] = most;
    }
}
kernel void mean_of_a_row_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                uint i [[thread_index_in_threadgroup]]) {
    threadgroup float sums[2], mean;
    float s = simd_sum(x[i]);
    if (i % 32 == 0) {
        sums[i / 32] = s;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        mean = (sums[0] + sums[1]) / 64;
    }
    out[i] = x[i] - mean; // FINDS: race uninitialised
}
kernel void mean_of_a_row_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                uint i [[thread_index_in_threadgroup]]) {
    threadgroup float sums[2], mean;
    float s = simd_sum(x[i]);
    if (i % 32 == 0) {
        sums[i / 32] = s;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) {
        mean = (sums[0] + sums[1]) / 64;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = x[i] - mean;
}
kernel void scratch_used_twice_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float shared[4];
    float v = x[i], most = simd_max(v);
    if (lane == 0) {
        shared[simd] = most;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    most = max(max(shared[0], shared[1]), max(shared[2], shared[3]));
    float e = exp(v - most), sum = simd_sum(e);
    if (lane == 0) {
        shared[simd] = sum; // FINDS: race
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = e / (shared[0] + shared[1] + shared[2] + shared[3]);
}
kernel void scratch_used_twice_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float shared[4];
    float v = x[i], most = simd_max(v);
    if (lane == 0) {
        shared[simd] = most;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    most = max(max(shared[0], shared[1]), max(shared[2], shared[3]));
    float e = exp(v - most), sum = simd_sum(e);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
        shared[simd] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = e / (shared[0] + shared[1] + shared[2] + shared[3]);
}
kernel void halves_of_a_sum_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 64; step > 0; step /= 2) {
        if (i < step) {
            s[i] += s[i + step]; // FINDS: bounds
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (i == 0) {
        out[0] = s[0];
    }
}
kernel void halves_of_a_sum_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 32; step > 0; step /= 2) {
        if (i < step) {
            s[i] += s[i + step];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (i == 0) {
        out[0] = s[0];
    }
}
kernel void returns_too_early_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    constant uint &n [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    if (i >= n) {
        return;
    }
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    out[i] = s[n - 1 - i];
}
kernel void returns_too_early_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    constant uint &n [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = i < n ? x[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < n) {
        out[i] = s[n - 1 - i];
    }
}
kernel void lane_thirty_two_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  ushort lane [[thread_index_in_simdgroup]]) {
    float v = x[lane];
    for (ushort mask = 1; mask <= 32; mask *= 2) {
        v += simd_shuffle_xor(v, mask);
    }
    out[lane] = v; // FINDS: lanes
}
kernel void lane_thirty_two_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  ushort lane [[thread_index_in_simdgroup]]) {
    float v = x[lane];
    for (ushort mask = 1; mask < 32; mask *= 2) {
        v += simd_shuffle_xor(v, mask);
    }
    out[lane] = v;
}
kernel void next_lane_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                            ushort lane [[thread_index_in_simdgroup]]) {
    float v = x[lane];
    float next = simd_shuffle(v, lane + 1); // FINDS: lanes
    out[lane] = next - v;
}
kernel void next_lane_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                            ushort lane [[thread_index_in_simdgroup]]) {
    float v = x[lane];
    float next = simd_shuffle(v, lane == 31 ? 31 : lane + 1);
    out[lane] = next - v;
}
kernel void last_lane_of_few_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]],
                 ushort lane [[thread_index_in_simdgroup]]) {
    float v = simd_prefix_inclusive_sum(x[i]);
    float total = simd_shuffle(v, 31); // FINDS: lanes
    out[i] = v / total;
}
kernel void last_lane_of_few_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]],
                 ushort lane [[thread_index_in_simdgroup]]) {
    float v = simd_prefix_inclusive_sum(x[i]);
    float total = simd_sum(x[i]);
    out[i] = v / total;
}
kernel void quads_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                        ushort i [[thread_index_in_threadgroup]]) {
    float v = x[i];
    if (i % 4 < 3) {
        v += quad_shuffle(v, 3); // FINDS: lanes
    }
    out[i] = v;
}
kernel void quads_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                        ushort i [[thread_index_in_threadgroup]]) {
    float v = x[i];
    if (i % 4 < 3) {
        v += quad_shuffle(v, 2);
    }
    out[i] = v;
}
kernel void given_by_one_lane_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    ushort lane [[thread_index_in_simdgroup]]) {
    float v;
    if (lane == 0) {
        v = x[0];
    }
    out[lane] = simd_broadcast(v, 1); // FINDS: uninitialised
}
kernel void given_by_one_lane_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    ushort lane [[thread_index_in_simdgroup]]) {
    float v;
    if (lane == 0) {
        v = x[0];
    }
    out[lane] = simd_broadcast(v, 0);
}
kernel void mean_of_none_wrong(device const int *x [[buffer(0)]], device int *out [[buffer(1)]],
                               device const int *starts [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    int count = starts[i + 1] - starts[i], sum = 0;
    for (int j = starts[i]; j < starts[i + 1]; j++) {
        sum += x[j];
    }
    out[i] = sum / count; // FINDS: arithmetic
}
kernel void mean_of_none_right(device const int *x [[buffer(0)]], device int *out [[buffer(1)]],
                               device const int *starts [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    int count = starts[i + 1] - starts[i], sum = 0;
    for (int j = starts[i]; j < starts[i + 1]; j++) {
        sum += x[j];
    }
    out[i] = sum / count;
}
kernel void least_integer_wrong(device const int *x [[buffer(0)]], device int *out [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    int sign = i & 1 ? 1 : -1;
    out[i] = x[i] / sign; // FINDS: arithmetic
}
kernel void least_integer_right(device const int *x [[buffer(0)]], device int *out [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    int sign = i & 1 ? 1 : -1;
    out[i] = sign < 0 ? int(0u - uint(x[i])) : x[i];
}
kernel void last_of_none_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                               device const uint *counts [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = x[counts[i] - 1]; // FINDS: bounds
}
kernel void last_of_none_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                               device const uint *counts [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = counts[i] ? x[counts[i] - 1] : 0;
}
kernel void negative_to_unsigned_wrong(device const float *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    out[i] = uint(floor(x[i])); // FINDS: arithmetic
}
kernel void negative_to_unsigned_right(device const float *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    out[i] = uint(int(floor(x[i])));
}
kernel void pixels_wrong(device const float4 *x [[buffer(0)]], device uchar4 *out [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    out[i] = uchar4(x[i] * 256.0f); // FINDS: arithmetic
}
kernel void pixels_right(device const float4 *x [[buffer(0)]], device uchar4 *out [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    out[i] = uchar4(clamp(x[i] * 256.0f, 0.0f, 255.0f));
}
kernel void handed_to_a_function_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    float acc[4] = {0, 0, 0, 0};
    add_to(acc, x, 5);
    out[i] = acc[0] + acc[1] + acc[2] + acc[3];
}
kernel void handed_to_a_function_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    float acc[4] = {0, 0, 0, 0};
    add_some(acc, x, 4);
    out[i] = acc[0] + acc[1] + acc[2] + acc[3];
}
kernel void odd_pairs_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint at = 2 * i;
    if (at < n) {
        float a = x[at], b = x[at + 1]; // FINDS: bounds
        out[at] = a * 0.5f - b;
        out[at + 1] = a + b * 0.5f; // FINDS: bounds
    }
}
kernel void odd_pairs_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    uint at = 2 * i;
    if (at + 1 < n) {
        float a = x[at], b = x[at + 1];
        out[at] = a * 0.5f - b;
        out[at + 1] = a + b * 0.5f;
    }
}
kernel void pages_wrong(device const int *table [[buffer(0)]], device const float *pages [[buffer(1)]],
                        device float *out [[buffer(2)]],
                 constant uint &length [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint t = i; t < length; t += 4) {
        device const float *page = pages + table[t / 32] * 32;
        sum += page[t % 32]; // FINDS: bounds
    }
    out[i] = sum;
}
kernel void pages_right(device const int *table [[buffer(0)]], device const float *pages [[buffer(1)]],
                        device float *out [[buffer(2)]],
                 constant uint &length [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint t = i; t < length; t += 4) {
        device const float *page = pages + table[t / 32] * 32;
        sum += page[t % 32];
    }
    out[i] = sum;
}
kernel void vocabulary_wrong(device const int *ids [[buffer(0)]], device const float4 *table [[buffer(1)]],
                             device float4 *out [[buffer(2)]],
                 uint2 at [[thread_position_in_grid]]) {
    out[at.y * 2 + at.x] = table[ids[at.y] * 4 + at.x]; // FINDS: bounds
}
kernel void vocabulary_right(device const int *ids [[buffer(0)]], device const float4 *table [[buffer(1)]],
                             device float4 *out [[buffer(2)]],
                 uint2 at [[thread_position_in_grid]]) {
    out[at.y * 2 + at.x] = table[ids[at.y] * 4 + at.x];
}
kernel void halo_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    out[i] = x[i - 1] + x[i]; // FINDS: bounds
}
kernel void halo_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    out[i] = (i ? x[i - 1] : 0) + x[i];
}
kernel void halo_in_threadgroup_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                      uint i [[thread_index_in_threadgroup]],
                 uint at [[thread_position_in_grid]]) {
    threadgroup float s[34];
    s[i + 1] = x[at];
    if (i == 0) {
        s[0] = at ? x[at - 1] : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[at] = s[i] + s[i + 1] + s[i + 2]; // FINDS: uninitialised
}
kernel void halo_in_threadgroup_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                      uint i [[thread_index_in_threadgroup]],
                 uint at [[thread_position_in_grid]]) {
    threadgroup float s[34];
    s[i + 1] = x[at];
    if (i == 0) {
        s[0] = at ? x[at - 1] : 0;
    }
    if (i == 31) {
        s[33] = at < 63 ? x[at + 1] : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[at] = s[i] + s[i + 1] + s[i + 2];
}
kernel void in_place_wrong(device float *x [[buffer(0)]], device float *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    float v = (x[i] + x[(i + 1) % 128]) / 2;
    x[i] = v; // FINDS: race
}
kernel void in_place_right(device float *x [[buffer(0)]], device float *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    float v = (x[i] + x[(i + 1) % 128]) / 2;
    out[i] = v;
}
kernel void tight_triples_wrong(device const float3 *x [[buffer(0)]], device packed_float3 *out [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    out[i] = x[i]; // FINDS: bounds
}
kernel void tight_triples_right(device const float3 *x [[buffer(0)]], device packed_float3 *out [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
    out[i] = x[i];
}
kernel void dynamic_too_small_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    threadgroup float *s [[threadgroup(0)]],
                 uint i [[thread_index_in_threadgroup]]) {
    s[i] = x[i]; // FINDS: bounds
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[63 - i]; // FINDS: bounds
}
kernel void dynamic_too_small_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                    threadgroup float *s [[threadgroup(0)]],
                 uint i [[thread_index_in_threadgroup]]) {
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[63 - i];
}
kernel void halves_in_pairs_wrong(device const half *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) {
    half2 v = *(device const half2 *)(x + 2 * i + 1); // FINDS: alignment
    out[i] = v.x + v.y;
}
kernel void halves_in_pairs_right(device const half *x [[buffer(0)]], device float *out [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) {
    half2 v = *(device const packed_half2 *)(x + 2 * i + 1);
    out[i] = v.x + v.y;
}
kernel void flag_beside_atomics_wrong(device const uint *x [[buffer(0)]],
                                      device atomic_uint *flag [[buffer(1)]], device uint *out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (x[i] == 40) {
        atomic_store_explicit(flag, 1u, memory_order_relaxed);
    }
    out[i] = *(device uint *)flag; // FINDS: race
}
kernel void flag_beside_atomics_right(device const uint *x [[buffer(0)]],
                                      device atomic_uint *flag [[buffer(1)]], device uint *out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (x[i] == 40) {
        atomic_store_explicit(flag, 1u, memory_order_relaxed);
    }
    out[i] = atomic_load_explicit(flag, memory_order_relaxed);
}
kernel void set_only_sometimes_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     constant uint &n [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup bool clipped;
    if (i == 0 && n > 4) {
        clipped = x[n] > 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = clipped ? 2.0f : x[i]; // FINDS: uninitialised
}
kernel void set_only_sometimes_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     constant uint &n [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]]) {
    threadgroup bool clipped;
    if (i == 0) {
        clipped = n > 4 && x[n] > 2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = clipped ? 2.0f : x[i];
}
kernel void best_without_a_start_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    float best;
    for (uint j = i; j < 64; j += 4) {
        if (x[j] > best) { // FINDS: uninitialised
            best = x[j];
        }
    }
    out[i] = best;
}
kernel void best_without_a_start_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                       uint i [[thread_position_in_grid]]) {
    float best = x[i];
    for (uint j = i; j < 64; j += 4) {
        if (x[j] > best) {
            best = x[j];
        }
    }
    out[i] = best;
}
kernel void same_value_from_all_right(device const float *x [[buffer(0)]], device uint *found [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    if (x[i] > 10) {
        found[0] = 1;
    }
}
kernel void chosen_by_a_flag_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    if (i < 32) {
        s[i] = x[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = s[i];
    out[i] = v * 2; // FINDS: uninitialised
}
kernel void chosen_by_a_flag_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                   uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    if (i < 32) {
        s[i] = x[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = i < 32 ? s[i] : 0;
    out[i] = v * 2;
}
kernel void loop_of_some_lanes_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    for (uint j = 0; j < 2; j++) {
        if (i % 3 == j) {
            continue;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
    }
    out[i] = s[i];
}
kernel void loop_of_some_lanes_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     uint i [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    for (uint j = 0; j < 2; j++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[i] = s[i];
}
kernel void sequence_of_two_barriers_wrong(device const float *x [[buffer(0)]],
                                           device float *out [[buffer(1)]], uint i [[thread_index_in_threadgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[i] = x[i];
    if (simd == 0) {
        threadgroup_barrier(mem_flags::mem_threadgroup); // FINDS: barrier
        out[i] = s[i];
    } else {
        out[i] = -s[i];
    }
}
