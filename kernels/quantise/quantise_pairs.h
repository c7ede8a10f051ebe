/*
 * x times quantised weights in bfloat, for CPUs that multiply it two of k at a time: the weights
 * are the left side (matmul/matmul_pairs.h). As integers they are multiplied by x, group by group,
 * and scales and biases are for the sums: scale * sum(x q) + bias * sum(x). Matrix units
 * (quantise_units.h) get weights that become bfloat, rounded as dequantise does.
 */
#ifndef INGOT_KERNELS_QUANTISE_PAIRS_H
#define INGOT_KERNELS_QUANTISE_PAIRS_H

#include "common/memory_hints.h"
#include "common/tile_units.h"
#include "matmul/matmul_pairs.h"

template <typename T, typename S> struct quantised_lines {
    device const uint *packed;
    device const S *scales, *biases;
    uint rows, depth, group_shift;

    float bias_of(ulong one, float scale) thread const {
        return has_biases ? float(biases[one]) : -float(middle) * scale;
    }
    /* Number `lane` of 32 that begin at `at`, of 8 bits. */
    T number(ulong at, uint lane) thread const {
        const ulong one = at >> group_shift;
        const float scale = float(scales[one]);
        const uint q = ((device const uchar *)packed)[at + lane];
        return T(fma(scale, float(q), bias_of(one, scale)));
    }
    uint four_bits(ulong at, uint lane) thread const {
        device const uint *words = packed + at / 8;
        const uint word = simd_shuffle(lane < 4 ? words[lane] : 0, ushort(lane / 8));
        return word >> lane % 8 * 4 & 15;
    }
    /* 32 numbers of 4 bits of two lines, from `at` and `below` on. Each half of the lanes knows the
     * sixteen that a line can have. */
    void two_lines(threadgroup bfloat *to, ulong at, ulong below, uint lane) thread const {
        const ulong one = at >> group_shift, other = below >> group_shift;
        const float scales_of[2] = {float(scales[one]), float(scales[other])};
        const float biases_of[2] = {bias_of(one, scales_of[0]), bias_of(other, scales_of[1])};
        const float scale = lane < 16 ? scales_of[0] : scales_of[1];
        const float bias = lane < 16 ? biases_of[0] : biases_of[1];
        const T known = T(fma(scale, float(lane & 15), bias));
        const ushort one_from = four_bits(at, lane), other_from = four_bits(below, lane) | 16;
        if constexpr (unit_parts<T> == 2) {
            const uint both = unit_halves(known);
            place_halves(to + lane, simd_shuffle(both, one_from));
            place_halves(to + PAIR_LINE + lane, simd_shuffle(both, other_from));
        } else {
            to[lane] = simd_shuffle(known, one_from);
            to[PAIR_LINE + lane] = simd_shuffle(known, other_from);
        }
    }
    template <uint COUNT>
    void stage(threadgroup bfloat *to, uint row, uint k, uint lane) thread const {
        if (bits == 4) {
            const uint last = rows - 1; // lines behind it are made and left
#pragma clang loop unroll(disable)
            for (uint r = 0; r < COUNT; r += 2) {
                two_lines(to + r * PAIR_LINE, ulong(min(row + r, last)) * depth + k,
                          ulong(min(row + r + 1, last)) * depth + k, lane);
            }
            return;
        }
#pragma clang loop unroll(disable)
        for (uint r = 0; r < COUNT; r++) {
            T value = T(0);
            if (row + r < rows) {
                value = number(ulong(row + r) * depth + k, lane);
            }
            place_unit(to + r * PAIR_LINE + lane, value);
        }
    }
};

/* ---- products by pairs ---- */

/* 32 of the integers of some lines as bfloat, which has all of them: those of 4 bits with
 * PAIR_OFFSET added, which costs nothing. Lines behind the last one are the last one again. */
constexpr constant uint PAIR_OFFSET = 128, PAIR_OFFSETS = 0x43004300u; /* 128 + q as two bfloat */

struct quantised_integers {
    device const uint *packed;
    uint rows, depth;

    /* What the lines below have at the same place is on its way. */
    template <uint COUNT> void ask(uint row, uint k) thread const {
        if (k % (512 / bits) == 0) {
            for (uint r = COUNT; r < 2 * COUNT; r++) {
                prefetch<1>(packed + (ulong(row + r) * depth + k) / (32 / bits));
            }
        }
    }
    /* Pair `lane` of 16 of a line of 4 bits, or of the one below it. */
    uint two_numbers(ulong at, ulong below, uint lane) thread const {
        device const uint *one = packed + at / 8, *other = packed + below / 8;
        const ushort from = lane % 16 / 4;
        const uint word = simd_shuffle(lane < 4 ? one[lane] : 0, from),
                   word_below = simd_shuffle(lane < 4 ? other[lane] : 0, from);
        const uint two = (lane < 16 ? word : word_below) >> lane % 4 * 8;
        return (two & 0xfu) | (two << 12 & 0xf0000u) | PAIR_OFFSETS;
    }
    template <uint COUNT>
    void stage(threadgroup bfloat *to, uint row, uint k, uint lane) thread const {
        const uint last = rows - 1;
        ask<COUNT>(row, k);
        if (bits == 4) {
#pragma unroll
            for (uint r = 0; r < COUNT; r += 2) {
                ((threadgroup uint *)to)[r * (PAIR_LINE / 2) + lane] =
                    two_numbers(ulong(min(row + r, last)) * depth + k,
                                ulong(min(row + r + 1, last)) * depth + k, lane);
            }
            return;
        }
#pragma unroll
        for (uint r = 0; r < COUNT; r++) {
            const ulong at = ulong(min(row + r, last)) * depth + k;
            const uint q = ((device const uchar *)packed)[at + lane];
            to[r * PAIR_LINE + lane] = as_type<bfloat>(ushort(as_type<uint>(float(q)) >> 16));
        }
    }
};

/* Of each group of the columns of a block, which are WIDTH rows of x, the sum: 32 numbers, those of
 * the columns again and again. */
template <typename T, uint WIDTH>
kernel void
quantised_sums(device const T *x [[buffer(0)]], device float *sums [[buffer(1)]],
               constant matmul_args &args [[buffer(2)]], constant uint &group_size [[buffer(3)]],
               uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],
               uint lane [[thread_index_in_simdgroup]]) {
    const uint column0 = group.x * WIDTH, columns = min(args.n - column0, WIDTH);
    x += column0 * args.b_stride + ulong(group.y) * group_size;
    float own = 0;
    for (uint c = 0; c < columns; c++) {
        float sum = 0;
        for (uint k = 0; k < group_size; k += 32) {
            sum += float(x[c * args.b_stride + k + lane]);
        }
        const float total = simd_sum(sum);
        own = lane % WIDTH == c ? total : own;
    }
    sums[(group.y * groups.x + group.x) * 32 + lane] = own;
}

/* Adds what a group has made of some lines to their totals: the sums of integers times x, less what
 * the integers had too much, by the scale, and those of x by the bias. */
template <typename S, uint COUNT, uint WIDTH>
inline void add_group(threadgroup float *totals, threadgroup const float *made, float of_x,
                      device const S *scales, device const S *biases, ulong stride, uint last,
                      uint lane) {
    constexpr uint TOGETHER = 32 / WIDTH;
    const uint offset = (bits == 4 ? PAIR_OFFSET : 0) + (has_biases ? 0 : middle);
    const float shift = float(offset) * of_x;
#pragma unroll
    for (uint r = 0; r < COUNT; r += TOGETHER) {
        float scale = 0, bias = 0;
#pragma unroll
        for (uint t = 0; t < TOGETHER; t++) {
            const ulong at = min(r + t, last) * stride;
            scale = lane / WIDTH == t ? float(scales[at]) : scale;
            if (has_biases) {
                bias = lane / WIDTH == t ? float(biases[at]) : bias;
            }
        }
        threadgroup float *to = totals + r * WIDTH + lane;
        const float own = fma(scale, made[r * WIDTH + lane] - shift, *to);
        *to = has_biases ? fma(bias, of_x, own) : own;
    }
}

/* The result is transposed: args are those of the weights as the left side. */
template <typename T, typename S, uint TALL, uint TN>
kernel void
quantised_pairs(device const uint *packed [[buffer(0)]], device const S *scales [[buffer(1)]],
                device const S *biases [[buffer(2)]], device const T *x [[buffer(3)]],
                device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
                constant matmul_args &args [[buffer(6)]], constant uint &group_size [[buffer(7)]],
                device const float *x_sums [[buffer(8)]],
                uint3 group [[threadgroup_position_in_grid]],
                uint3 groups [[threadgroups_per_grid]], uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint HEIGHT = 64, WIDTH = TN * TILE, COUNT = TALL * TILE;
    constexpr uint DEPTH = 12288 / WIDTH; // of x, 24 KiB: whole groups
    constexpr uint ROOM = COUNT * PAIR_LINE;
    threadgroup float totals[HEIGHT * WIDTH], turned[HEIGHT * WIDTH], made[COUNT * WIDTH];
    threadgroup T room[2 * ROOM];
    const quantised_integers left = {packed, args.m, args.k};
    const uint row0 = group.y * HEIGHT, rows = min(args.m - row0, HEIGHT);
    const ulong lines_apart = args.k / group_size;
    x += ulong(group.x) * WIDTH * args.k;
#pragma unroll
    for (uint e = lane; e < HEIGHT * WIDTH; e += 32) {
        totals[e] = 0;
    }
    for (uint k0 = 0; k0 < args.k; k0 += DEPTH) {
        const uint last = min(args.k, k0 + DEPTH);
        for (uint i = 0; i < rows; i += COUNT) {
            const ulong first = ulong(row0 + i) * lines_apart;
            simdgroup_barrier(mem_flags::mem_threadgroup); // the last lines' room is free
            left.stage<COUNT>(room, row0 + i, k0, lane);
            uint turn = 0;
            for (uint begun = k0; begun < last; begun += group_size) {
                pair_sums<T, TALL, TN> sums;
                sums.begin(made, true);
                for (uint k = begun; k < begun + group_size; k += PAIR_LINE, turn ^= 1) {
                    simdgroup_barrier(mem_flags::mem_threadgroup);
                    if (k + PAIR_LINE < last) {
                        left.stage<COUNT>(room + (turn ^ 1) * ROOM, row0 + i, k + PAIR_LINE, lane);
                    }
                    sums.add(room + turn * ROOM, x + k * WIDTH, PAIR_LINE);
                }
                sums.keep_apart(made);
                simdgroup_barrier(mem_flags::mem_threadgroup);
                const uint one = begun / group_size;
                const float of_x = x_sums[(one * groups.x + group.x) * 32 + lane];
                add_group<S, COUNT, WIDTH>(totals + i * WIDTH, made, of_x, scales + first + one,
                                           biases + first + one, lines_apart, args.m - 1 - row0 - i,
                                           lane);
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < rows; i += TILE) {
        for (uint c = 0; c < WIDTH; c += TILE) {
            simdgroup_float8x8 tile;
            simdgroup_load(tile, totals + i * WIDTH + c, WIDTH);
            simdgroup_store(tile, turned + c * HEIGHT + i, HEIGHT, ulong2(0), true);
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint column0 = group.x * WIDTH, columns = min(args.n - column0, WIDTH);
    put_lines<HEIGHT>(turned, columns, rows, row0, column0, true, 0, bias, out, (device uchar *)out,
                      args, lane);
}

#endif
