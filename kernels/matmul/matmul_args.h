#ifndef INGOT_KERNELS_MATMUL_ARGS_H
#define INGOT_KERNELS_MATMUL_ARGS_H

#include "common/args.h"

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
};

/* matmul_blocks.h: columns of a block (rows: as many, half or twice), what a panel has of k, and
 * elements of its lines. */
#define MATMUL_BLOCK 128
#define MATMUL_DEPTH 64
#define MATMUL_LINE  (MATMUL_DEPTH + 8)
/* matmul_warpgroups.h: threads, and places for panels of each operand. */
#define MATMUL_WARPGROUP_THREADS 256
#define MATMUL_WARPGROUP_PLACES  4

#endif
