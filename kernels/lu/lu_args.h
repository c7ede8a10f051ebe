#ifndef INGOT_KERNELS_LU_ARGS_H
#define INGOT_KERNELS_LU_ARGS_H

#include "common/args.h"

/* Columns of a panel of the blocked form; rows that one SIMD-group updates at once. */
#define LU_PANEL     32
#define LU_TILE_ROWS 128
/* Columns of a panel of the form that takes one launch; rows that it can have, one per thread;
 * columns up to which one threadgroup is enough. */
#define LU_WHOLE_PANEL   16
#define LU_WHOLE_ROWS    448
#define LU_WHOLE_COLUMNS 1024
/* The most rows of the form for few large matrices: 8 for each of 512 threads. Columns, one per
 * thread, whose rows one threadgroup exchanges. */
#define LU_COLUMNS_ROWS     4096
#define LU_EXCHANGE_THREADS 128
/* The largest system that one lane takes. */
#define LU_TINY 16
/* Right-hand sides that a small system carries through the factorisation. */
#define LU_FEW_SIDES 4

struct lu_small_args {
    uint64_t batch;
    uint32_t rows, columns;
    uint32_t right_sides;  /* of solve */
    uint32_t group_floats; /* of threadgroup memory per SIMD-group, likewise */
};

/* A panel starts at row and column `first` and has `width` columns. */
struct lu_step_args {
    uint32_t rows, columns;
    uint32_t first, width;
    uint32_t steps; /* min(rows, columns): pivots per matrix */
    uint32_t reserved;
};

struct lu_whole_args {
    uint32_t rows, columns;
    uint32_t steps; /* min(rows, columns) */
    uint32_t sides; /* columns of x, which go through the factorisation */
};

/* A panel of few large matrices, of which rows may be longer than the columns that are factored. */
struct lu_columns_args {
    uint64_t matrix; /* from matrix to matrix */
    uint32_t rows, columns, stride;
    uint32_t first, width;
    uint32_t steps;
};

struct lu_permute_args {
    uint32_t rows, columns; /* of b */
    uint32_t steps;
    uint32_t reserved;
};

#endif
