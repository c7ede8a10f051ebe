// Products with quantised rows, as inference code has them: mistakes and the same kernels without them.
// SANITIZE: bounds,alignment,race,barrier,uninitialised,lanes,arithmetic
// RUN: kernel=blocks_rounded_up_wrong threads=32 group=32
// ARG 0: u8[170]
// ARG 1: f32[160]
// ARG 2: f32[1]
// ARG 3: u32 = 150
// RUN: kernel=blocks_rounded_up_right threads=32 group=32
// ARG 0: u8[170]
// ARG 1: f32[160]
// ARG 2: f32[1]
// ARG 3: u32 = 150
// RUN: kernel=nibbles_one_too_far_wrong threads=32 group=32
// ARG 0: u8[36] = i * 7
// ARG 1: f32[64] = i
// ARG 2: f32[1]
// RUN: kernel=nibbles_one_too_far_right threads=32 group=32
// ARG 0: u8[36] = i * 7
// ARG 1: f32[64] = i
// ARG 2: f32[1]
// RUN: kernel=activations_without_barrier_wrong threads=128 group=128
// ARG 0: u8[136] = i
// ARG 1: f32[128] = i
// ARG 2: f32[4]
// RUN: kernel=activations_without_barrier_right threads=128 group=128
// ARG 0: u8[136] = i
// ARG 1: f32[128] = i
// ARG 2: f32[4]
// RUN: kernel=last_rows_wrong threads=96 group=96
// ARG 0: u8[34] = i
// ARG 1: f32[5]
// ARG 2: u32 = 5
// RUN: kernel=last_rows_right threads=96 group=96
// ARG 0: u8[34] = i
// ARG 1: f32[5]
// ARG 2: u32 = 5
// RUN: kernel=words_of_a_block_wrong threads=8 group=8
// ARG 0: u8[36] = i
// ARG 1: u32[8]
// RUN: kernel=words_of_a_block_right threads=8 group=8
// ARG 0: u8[36] = i
// ARG 1: u32[8]
// RUN: kernel=nibbles_of_a_word_wrong threads=8 group=8
// ARG 0: u32[8] = i * 2654435761
// ARG 1: u32[8]
// RUN: kernel=nibbles_of_a_word_right threads=8 group=8
// ARG 0: u32[8] = i * 2654435761
// ARG 1: u32[8]
// RUN: kernel=scales_not_all_read_wrong threads=8 group=8
// ARG 0: u8[16] = i
// ARG 1: f32[16]
// RUN: kernel=scales_not_all_read_right threads=8 group=8
// ARG 0: u8[16] = i
// ARG 1: f32[16]
// RUN: kernel=scale_of_zeros_wrong threads=32 group=32
// ARG 0: f32[32]
// ARG 1: i8[32]
// RUN: kernel=scale_of_zeros_right threads=32 group=32
// ARG 0: f32[32]
// ARG 1: i8[32]
// RUN: kernel=quantised_too_wide_wrong threads=32 group=32
// ARG 0: f32[32] = i - 16
// ARG 1: i8[32]
// RUN: kernel=quantised_too_wide_right threads=32 group=32
// ARG 0: f32[32] = i - 16
// ARG 1: i8[32]
// RUN: kernel=minimum_of_a_group_wrong threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[2]
// RUN: kernel=minimum_of_a_group_right threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: f32[2]
// RUN: kernel=codebook_wrong threads=32 group=32
// ARG 0: u8[32] = i % 18
// ARG 1: f32[32]
// RUN: kernel=codebook_right threads=32 group=32
// ARG 0: u8[32] = i % 16
// ARG 1: f32[32]
// RUN: kernel=experts_of_tokens_wrong threads=8 group=8
// ARG 0: i32[8] = i == 5 ? -1 : i % 4
// ARG 1: f32[128] = i
// ARG 2: f32[8]
// RUN: kernel=experts_of_tokens_right threads=8 group=8
// ARG 0: i32[8] = i % 4
// ARG 1: f32[128] = i
// ARG 2: f32[8]
#include <metal_stdlib>
using namespace metal;
struct block_q8 {
    half d;
    char qs[32];
};
struct block_q4 {
    half d;
    uchar qs[16];
};
kernel void blocks_rounded_up_wrong(device const block_q8 *x [[buffer(0)]],
                                    device const float *y [[buffer(1)]], device float *out [[buffer(2)]],
                 constant uint &n [[buffer(3)]], uint lane [[thread_index_in_simdgroup]]) {
    uint blocks = (n + 31) / 32 + 1;
    float sum = 0;
    for (uint b = lane; b < blocks; b += 32) {
        device const block_q8 &one = x[b];
        float part = 0;
        for (uint j = 0; j < 32; j++) {
            part += one.qs[j] * y[b * 32 + j]; // FINDS: bounds
        }
        sum += part * one.d; // FINDS: bounds
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        out[0] = sum;
    }
}
kernel void blocks_rounded_up_right(device const block_q8 *x [[buffer(0)]],
                                    device const float *y [[buffer(1)]], device float *out [[buffer(2)]],
                 constant uint &n [[buffer(3)]], uint lane [[thread_index_in_simdgroup]]) {
    uint blocks = (n + 31) / 32;
    float sum = 0;
    for (uint b = lane; b < blocks; b += 32) {
        device const block_q8 &one = x[b];
        float part = 0;
        for (uint j = 0; j < 32; j++) {
            part += one.qs[j] * y[b * 32 + j];
        }
        sum += part * one.d;
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        out[0] = sum;
    }
}
kernel void nibbles_one_too_far_wrong(device const block_q4 *x [[buffer(0)]],
                                      device const float *y [[buffer(1)]], device float *out [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]]) {
    float sum = 0;
    for (uint b = lane / 16; b < 2; b += 2) {
        uint j = lane % 16;
        uchar q = x[b].qs[j];
        sum += (q & 15) * y[b * 32 + j] + (q >> 4) * y[b * 32 + j + 17]; // FINDS: bounds
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        out[0] = sum;
    }
}
kernel void nibbles_one_too_far_right(device const block_q4 *x [[buffer(0)]],
                                      device const float *y [[buffer(1)]], device float *out [[buffer(2)]],
                 uint lane [[thread_index_in_simdgroup]]) {
    float sum = 0;
    for (uint b = lane / 16; b < 2; b += 2) {
        uint j = lane % 16;
        uchar q = x[b].qs[j];
        sum += (q & 15) * y[b * 32 + j] + (q >> 4) * y[b * 32 + j + 16];
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        out[0] = sum;
    }
}
kernel void activations_without_barrier_wrong(device const block_q8 *x [[buffer(0)]],
                                              device const float *y [[buffer(1)]], device float *out [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float staged[128];
    staged[i] = y[i];
    float sum = 0;
    for (uint j = lane; j < 32; j += 32) {
        sum += x[simd].qs[j] * staged[(127 - 32 * simd) - j]; // FINDS: race
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        out[simd] = sum * x[simd].d; // FINDS: uninitialised
    }
}
kernel void activations_without_barrier_right(device const block_q8 *x [[buffer(0)]],
                                              device const float *y [[buffer(1)]], device float *out [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float staged[128];
    staged[i] = y[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint j = lane; j < 32; j += 32) {
        sum += x[simd].qs[j] * staged[(127 - 32 * simd) - j];
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        out[simd] = sum * x[simd].d;
    }
}
kernel void last_rows_wrong(device const block_q8 *x [[buffer(0)]], device float *out [[buffer(1)]],
                            constant uint &rows [[buffer(2)]],
                 uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    for (uint r = 0; r < 2; r++) {
        uint row = simd * 2 + r;
        float s = simd_sum(float(x[0].qs[lane]));
        if (lane == 0) {
            out[row] = s; // FINDS: bounds
        }
    }
}
kernel void last_rows_right(device const block_q8 *x [[buffer(0)]], device float *out [[buffer(1)]],
                            constant uint &rows [[buffer(2)]],
                 uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    for (uint r = 0; r < 2; r++) {
        uint row = simd * 2 + r;
        float s = simd_sum(float(x[0].qs[lane]));
        if (lane == 0 && row < rows) {
            out[row] = s;
        }
    }
}
kernel void words_of_a_block_wrong(device const block_q4 *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) {
    device const uint *words = (device const uint *)x[i / 4].qs;
    out[i] = words[i % 4]; // FINDS: alignment
}
kernel void words_of_a_block_right(device const block_q4 *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) {
    device const ushort *words = (device const ushort *)x[i / 4].qs;
    out[i] = words[2 * (i % 4)] | uint(words[2 * (i % 4) + 1]) << 16;
}
kernel void nibbles_of_a_word_wrong(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (uint j = 0; j <= 8; j++) {
        sum += (x[i] >> (4 * j)) & 15; // FINDS: arithmetic
    }
    out[i] = sum;
}
kernel void nibbles_of_a_word_right(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
    uint sum = 0;
    for (uint j = 0; j < 8; j++) {
        sum += (x[i] >> (4 * j)) & 15;
    }
    out[i] = sum;
}
kernel void scales_not_all_read_wrong(device const uchar *s [[buffer(0)]], device float *out [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    uchar scales[8];
    for (uint j = 0; j < 6; j++) {
        scales[j] = s[j + i] & 63;
    }
    float sum = 0;
    for (uint j = 0; j < 8; j++) {
        sum += scales[j];
    }
    out[i] = sum; // FINDS: uninitialised
}
kernel void scales_not_all_read_right(device const uchar *s [[buffer(0)]], device float *out [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
    uchar scales[8];
    for (uint j = 0; j < 8; j++) {
        scales[j] = s[j + i] & 63;
    }
    float sum = 0;
    for (uint j = 0; j < 8; j++) {
        sum += scales[j];
    }
    out[i] = sum;
}
kernel void scale_of_zeros_wrong(device const float *x [[buffer(0)]], device char *q [[buffer(1)]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    float most = simd_max(abs(x[lane]));
    float d = most / 127;
    float inverse = 1 / d;
    q[lane] = char(round(x[lane] * inverse)); // FINDS: arithmetic
}
kernel void scale_of_zeros_right(device const float *x [[buffer(0)]], device char *q [[buffer(1)]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    float most = simd_max(abs(x[lane]));
    float d = most / 127;
    float inverse = d ? 1 / d : 0;
    q[lane] = char(round(x[lane] * inverse));
}
kernel void quantised_too_wide_wrong(device const float *x [[buffer(0)]], device char *q [[buffer(1)]],
                                     uint lane [[thread_index_in_simdgroup]]) {
    float most = simd_max(abs(x[lane]));
    float inverse = 130 / most;
    q[lane] = char(rint(x[lane] * inverse)); // FINDS: arithmetic
}
kernel void quantised_too_wide_right(device const float *x [[buffer(0)]], device char *q [[buffer(1)]],
                                     uint lane [[thread_index_in_simdgroup]]) {
    float most = simd_max(abs(x[lane]));
    float inverse = 127 / most;
    q[lane] = char(rint(x[lane] * inverse));
}
kernel void minimum_of_a_group_wrong(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    float v = x[i];
    if (lane < 24) {
        for (ushort step = 16; step > 0; step /= 2) {
            v = min(v, simd_shuffle_down(v, step)); // FINDS: lanes
        }
    }
    if (lane == 0) {
        out[simd] = v;
    }
}
kernel void minimum_of_a_group_right(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                                     uint i [[thread_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    float v = x[i];
        for (ushort step = 16; step > 0; step /= 2) {
            v = min(v, simd_shuffle_down(v, step));
        }
    if (lane == 0) {
        out[simd] = v;
    }
}
constant float codebook_wrong_book[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
kernel void codebook_wrong(device const uchar *x [[buffer(0)]], device float *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    out[i] = codebook_wrong_book[x[i]]; // FINDS: bounds
}
constant float codebook_right_book[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
kernel void codebook_right(device const uchar *x [[buffer(0)]], device float *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    out[i] = codebook_right_book[x[i]];
}
kernel void experts_of_tokens_wrong(device const int *expert [[buffer(0)]],
                                    device const float *w [[buffer(1)]], device float *out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    device const float *row = w + expert[i] * 32;
    float sum = 0;
    for (uint j = 0; j < 32; j++) {
        sum += row[j]; // FINDS: bounds
    }
    out[i] = sum;
}
kernel void experts_of_tokens_right(device const int *expert [[buffer(0)]],
                                    device const float *w [[buffer(1)]], device float *out [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    device const float *row = w + expert[i] * 32;
    float sum = 0;
    for (uint j = 0; j < 32; j++) {
        sum += row[j];
    }
    out[i] = sum;
}
