/*
 * x times quantised weights in bfloat or half, for CPUs with matrix units: the weights are the left
 * side (matmul/matmul_units.h), and become numbers on their way into threadgroup memory, rounded
 * as dequantise does.
 */
#ifndef INGOT_KERNELS_QUANTISE_UNITS_H
#define INGOT_KERNELS_QUANTISE_UNITS_H

#include "matmul/matmul_units.h"
#include "quantise/quantise_pairs.h"

template <typename T, typename S> struct quantised_units_lines {
    quantised_lines<T, S> lines;

    template <uint DEPTH>
    void bring(threadgroup bfloat *to, uint row, uint k, uint lane) thread const {
        uint end = min(DEPTH, lines.depth - k);
#pragma clang loop unroll(disable)
        for (uint i = 0; i < end; i += UNIT_SIDE) {
            lines.template stage<UNIT_SIDE>(to + i * UNIT_SIDE * unit_parts<T>, row, k + i, lane);
        }
    }
};

/* The result is transposed: args are those of the weights as the left side. */
template <typename T, typename S, uint COLUMNS, uint DEPTH>
kernel void
quantised_units(device const uint *packed [[buffer(0)]], device const S *scales [[buffer(1)]],
                device const S *biases [[buffer(2)]], device const bfloat *x [[buffer(3)]],
                device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
                constant matmul_args &args [[buffer(6)]], constant uint &group_size [[buffer(7)]],
                uint3 group [[threadgroup_position_in_grid]],
                uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float lines[COLUMNS * UNIT_SIDE];
    threadgroup bfloat room[DEPTH * UNIT_SIDE * unit_parts<T>];
    quantised_units_lines<T, S> left = {{packed, scales, biases, args.m, args.k, ctz(group_size)}};
    make_rows<T, COLUMNS, DEPTH>(left, x, bias, out, (device uchar *)out, args, group, lane, lines,
                                 room);
}

#endif
