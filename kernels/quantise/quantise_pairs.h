/*
 * x times quantised weights in bfloat, for CPUs that multiply it two of k at a time: the weights
 * are the left side (matmul/matmul_pairs.h), and become bfloat on their way into threadgroup
 * memory, rounded as dequantise does.
 */
#ifndef INGOT_KERNELS_QUANTISE_PAIRS_H
#define INGOT_KERNELS_QUANTISE_PAIRS_H

#include "matmul/matmul_pairs.h"

template <typename T, typename S> struct quantised_lines {
    device const uint *packed;
    device const S *scales, *biases;
    uint rows, depth, group_shift;

    /* Number `lane` of 32 that begin at `at`. */
    T number(ulong at, uint lane) thread const {
        const ulong one = at >> group_shift;
        const float scale = float(scales[one]);
        const float bias = has_biases ? float(biases[one]) : -float(middle) * scale;
        if (bits == 8) {
            const uint q = ((device const uchar *)packed)[at + lane];
            return T(fma(scale, float(q), bias));
        }
        device const uint *words = packed + at / 8;
        const uint word = simd_shuffle(lane < 4 ? words[lane] : 0, ushort(lane / 8));
        const T known = T(fma(scale, float(lane & 15), bias));
        return simd_shuffle(known, ushort(word >> lane % 8 * 4 & 15));
    }
    template <uint COUNT> void stage(threadgroup T *to, uint row, uint k, uint lane) thread const {
#pragma clang loop unroll(disable)
        for (uint r = 0; r < COUNT; r++) {
            T value = T(0);
            if (row + r < rows) {
                value = number(ulong(row + r) * depth + k, lane);
            }
            to[r * PAIR_LINE + lane] = value;
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
