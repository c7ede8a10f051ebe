/*
 * Products of floats by multiply-adds: what one of 256 threads makes of a product of panels in
 * threadgroup memory. Its rows and columns lie STEP apart there, and are read in pieces of four.
 */
#ifndef INGOT_KERNELS_COMMON_FLOAT_PRODUCTS_H
#define INGOT_KERNELS_COMMON_FLOAT_PRODUCTS_H

#include <metal_stdlib>
using namespace metal;

/* sum[i][j] is row i times column j, over DEPTH elements. */
template <uint DEPTH, uint STEP, uint ROWS, uint COLUMNS>
inline void multiply_floats(thread float (&sum)[ROWS][COLUMNS], threadgroup const float *rows,
                            threadgroup const float *columns) {
#pragma unroll
    for (uint i = 0; i < ROWS; i++)
#pragma unroll
        for (uint j = 0; j < COLUMNS; j++) {
            sum[i][j] = 0.0f;
        }
    for (uint d0 = 0; d0 < DEPTH; d0 += 16)
#pragma unroll
        for (uint d = d0; d < d0 + 16; d += 4) {
            float4 row[ROWS], column[COLUMNS];
#pragma unroll
            for (uint j = 0; j < COLUMNS; j++) {
                column[j] = *(threadgroup const float4 *)(columns + j * STEP + d);
            }
#pragma unroll
            for (uint i = 0; i < ROWS; i++) {
                row[i] = *(threadgroup const float4 *)(rows + i * STEP + d);
            }
#pragma unroll
            for (uint e = 0; e < 4; e++)
#pragma unroll
                for (uint i = 0; i < ROWS; i++)
#pragma unroll
                    for (uint j = 0; j < COLUMNS; j++) {
                        sum[i][j] = fma(row[i][e], column[j][e], sum[i][j]);
                    }
        }
}

/* sum += weights times lines, over COUNT lines, AT_ONCE without a branch. A thread has PIECES of
 * four elements of a line, 64 apart. */
template <uint COUNT, uint AT_ONCE, uint STEP, uint LINE, uint ROWS, uint PIECES>
inline void add_weighted(thread float4 (&sum)[ROWS][PIECES], threadgroup const float *weights,
                         threadgroup const float *lines) {
    for (uint t0 = 0; t0 < COUNT; t0 += AT_ONCE)
#pragma unroll
        for (uint t = t0; t < t0 + AT_ONCE; t += 4) {
            float4 weight[ROWS], piece[4][PIECES];
#pragma unroll
            for (uint i = 0; i < ROWS; i++) {
                weight[i] = *(threadgroup const float4 *)(weights + i * STEP + t);
            }
#pragma unroll
            for (uint e = 0; e < 4; e++)
#pragma unroll
                for (uint h = 0; h < PIECES; h++) {
                    piece[e][h] = *(threadgroup const float4 *)(lines + (t + e) * LINE + 64 * h);
                }
#pragma unroll
            for (uint e = 0; e < 4; e++)
#pragma unroll
                for (uint i = 0; i < ROWS; i++)
#pragma unroll
                    for (uint h = 0; h < PIECES; h++) {
                        sum[i][h] = fma(float4(weight[i][e]), piece[e][h], sum[i][h]);
                    }
        }
}

#endif
