#ifndef INGOT_KERNELS_SVD_ARGS_H
#define INGOT_KERNELS_SVD_ARGS_H

#include "common/args.h"

/* The matrix is taken as tall, `length` by `count` with count <= length: as it is, or transposed
 * when wide. Its columns are rows here, each followed by its row of V': [count][row] floats, of
 * which the first `padded` are the column and the next `vector` belong to V'. Padding is zero. */
struct svd_args {
    uint64_t matrix;    /* floats from matrix to matrix in the work space */
    uint32_t matrices;  /* of this part */
    uint32_t length;    /* of a column */
    uint32_t count;     /* columns */
    uint32_t padded;    /* length rounded up to 32 */
    uint32_t row;       /* padded + vector */
    uint32_t vector;    /* count rounded up to 32; 0 when only singular values are wanted */
    uint32_t wide;      /* the input is transposed */
    uint32_t vectors;   /* u and vh are wanted */
    uint32_t per_group; /* matrices of a threadgroup */

    /* Beyond 64 columns; see svd_large.h for the spaces. */
    uint32_t columns_row; /* floats from row to row of the columns */
    uint32_t plain_row;   /* of the matrix as it is */
    uint32_t blocks;      /* of 32 columns, rounded up to even */
    uint32_t round;       /* of blocks - 1 */
    uint32_t sweep;
};

enum { SVD_MAX_SWEEPS = 24 };

/* One matrix's own numbers (beyond 64 columns), before its singular values (count floats) and its
 * order (count integers). */
struct svd_state {
    float scale;
    uint32_t odd;                   /* not all finite */
    uint32_t alike;                 /* columns are about equally long */
    uint32_t worst[SVD_MAX_SWEEPS]; /* by sweep: bits of the largest cosine between two columns */
    uint32_t reserved[5];
};

#endif
