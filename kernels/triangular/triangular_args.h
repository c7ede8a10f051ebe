#ifndef INGOT_KERNELS_TRIANGULAR_ARGS_H
#define INGOT_KERNELS_TRIANGULAR_ARGS_H

#include "common/args.h"

/* Rows of the blocks on the diagonal that are inverted, and columns of x that few launches take. */
#define TRIANGULAR_BLOCK 64
#define TRIANGULAR_FEW   8
/* Rows that one SIMD-group brings up to date, of how many. */
#define TRIANGULAR_ROWS 8

/* Solves a lower triangular system; strides may be negative, which makes it an upper one from the
 * other end, and exchanged, which transposes it. In elements. */
struct triangular_args {
    int64_t a_first, a_row, a_column, a_matrix;
    int64_t x_first, x_row, x_matrix;
    uint32_t n, columns;
    uint32_t unit;
    uint32_t first; /* row of the block, in steps */
};

/* Tiles of products: 16 * PRODUCT_PER or 16 * PRODUCT_PER_WIDE rows and columns by 256 threads. */
#define PRODUCT_THREADS  256
#define PRODUCT_PER      4
#define PRODUCT_PER_WIDE 8

enum product_part { PRODUCT_WHOLE, PRODUCT_UPPER, PRODUCT_LOWER };

/* c = alpha a b, or c += alpha a b with `add`; strides in elements, c's rows are contiguous. */
struct product_args {
    int64_t a_first, a_row, a_column, a_matrix; /* m x k */
    int64_t b_first, b_row, b_column, b_matrix; /* k x n */
    int64_t c_first, c_row, c_matrix;           /* m x n */
    int64_t c_part;                             /* from sum to sum, where k has several parts */
    uint32_t m, n, k;
    uint32_t depth; /* of k in each part */
    uint32_t batch;
    uint32_t part; /* of c, by tiles: enum product_part */
    uint32_t add;
    float alpha;
    uint32_t fours; /* c's rows begin at multiples of four elements */
    uint32_t reserved;
};

/* Blocks of reflections. */
struct reflector_args {
    uint64_t tau_first, tau_matrix; /* 64 for each of `blocks` blocks */
    uint64_t t_first, t_matrix;
    uint64_t part; /* from sum to sum, of v'v or of v'target */
    uint32_t line; /* floats from row to row of a sum */
    uint32_t columns, width;
    uint32_t parts;
    uint32_t blocks;
    uint32_t adjoint;
};

#endif
