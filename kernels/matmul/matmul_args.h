#ifndef INGOT_KERNELS_MATMUL_ARGS_H
#define INGOT_KERNELS_MATMUL_ARGS_H

#include "common/args.h"

/* The whole aligned pieces of 16 bytes of an operand's memory: they
 * count from `shift` elements before its first one. */
struct matmul_pieces {
    uint32_t shift, first, last;
    uint32_t
        before; /* elements of the binding before the first one: shift, if the buffer has them */
};

/* out[i][j] = epilogue(sum over l of a[i][l] b[l][j] + bias[j]), for each matrix of the batch. The
 * strides are in elements: from one row of a matrix, as it lies in memory, to the next, and
 * from one matrix to the next (0: all use the same). */
struct matmul_args {
    uint64_t a_stride, b_stride, out_stride;
    uint64_t a_batch, b_batch, out_batch;
    uint32_t m, n, k;
    uint32_t parts;      /* of k; above 1, sums go to float32 [parts][batch][m][n] instead */
    uint32_t part_depth; /* what a part has of k: a multiple of MATMUL_DEPTH */
    uint32_t batch;
    /* In memory: k rows of m, n rows of k. 2, of matmul_panels.h: a is [m / 8][k][8], k in tiles.
     */
    uint32_t a_transposed, b_transposed;
    uint32_t has_bias, bias_step; /* bias_step 0: one element for all columns */
    uint32_t epilogue;            /* enum ingot_epilogue */
    uint32_t out_transposed;      /* out and bias are those of the transposed result */
    uint32_t
        out_loose; /* of matmul_blocks.h: rows of the result, or of sums, are no whole pieces */
    struct matmul_pieces a_pieces, b_pieces; /* of matmul_strips.h */
};

/* matmul_lay_out: lines of an operand, `along` elements of 16 bits each, to others of whole pieces.
 */
struct matmul_layout {
    uint64_t stride, batch;       /* of the operand */
    uint32_t lines, along;        /* that it has */
    uint32_t to_lines, to_pieces; /* that are made: zeros where it has none */
    struct matmul_pieces where;
};

/* matmul_blocks.h: columns of a block (rows: as many, half or twice), what a panel has of k, and
 * elements of its lines. */
#define MATMUL_BLOCK 128
#define MATMUL_DEPTH 64
#define MATMUL_LINE  (MATMUL_DEPTH + 8)
/* matmul_floats.h: what a panel has of k, and elements between its lines. */
#define MATMUL_FLOAT_DEPTH 16
#define MATMUL_FLOAT_GAP   4
/* matmul_strips.h: threads, and columns of a threadgroup's part of the result. */
#define MATMUL_STRIP_THREADS 128
#define MATMUL_STRIP_COLUMNS 64
/* matmul_warpgroups.h: places for panels of each operand. */
#define MATMUL_WARPGROUP_PLACES 4

#endif
