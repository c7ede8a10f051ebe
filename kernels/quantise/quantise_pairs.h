/*
 * x times quantised weights in bfloat, for CPUs that multiply it two of k at a time: the weights
 * are the left side (matmul/matmul_pairs.h), and become bfloat on their way into threadgroup
 * memory, rounded as dequantise does.
 */
#ifndef INGOT_KERNELS_QUANTISE_PAIRS_H
#define INGOT_KERNELS_QUANTISE_PAIRS_H

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
    /* What the lines below have at the same place is on its way. */
    template <uint COUNT> void ask(uint row, uint k) thread const {
        const uint line = 512 / bits;
        if (k % line == 0) {
            for (uint r = COUNT; r < 2 * COUNT; r++) {
                const ulong at = ulong(row + r) * depth + k;
                prefetch<1>(packed + at / (32 / bits));
            }
        }
    }
    template <uint COUNT>
    void stage(threadgroup bfloat *to, uint row, uint k, uint lane) thread const {
        ask<COUNT>(row, k);
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

/* The result is transposed: args are those of the weights as the left side. */
template <typename T, typename S, uint TALL, uint TN>
kernel void
quantised_pairs(device const uint *packed [[buffer(0)]], device const S *scales [[buffer(1)]],
                device const S *biases [[buffer(2)]], device const T *x [[buffer(3)]],
                device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
                constant matmul_args &args [[buffer(6)]], constant uint &group_size [[buffer(7)]],
                uint3 group [[threadgroup_position_in_grid]],
                uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint TM = 8;
    threadgroup float lines[TM * TILE * TN * TILE], turned[TM * TILE * TN * TILE];
    threadgroup T room[2 * TALL * TILE * PAIR_LINE];
    quantised_lines<T, S> left = {packed, scales, biases, args.m, args.k, ctz(group_size)};
    make_pairs<T, TM, TALL, TN>(left, x, bias, out, (device uchar *)out, args, group, lane, lines,
                                turned, room);
}

#endif
