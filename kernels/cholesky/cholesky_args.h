#ifndef INGOT_KERNELS_CHOLESKY_ARGS_H
#define INGOT_KERNELS_CHOLESKY_ARGS_H

#include "common/args.h"

/* The largest matrix that one lane takes. */
#define CHOLESKY_TINY 16
/* Rows of a panel of the blocked form. */
#define CHOLESKY_PANEL 32
/* The largest matrix that one threadgroup takes. */
#define CHOLESKY_WHOLE 256
/* Rows and columns that one SIMD-group updates. */
#define CHOLESKY_TILE_ROWS    128
#define CHOLESKY_TILE_COLUMNS 32

struct cholesky_args {
    uint64_t batch;
    uint32_t n;
    uint32_t upper;
};

struct cholesky_step_args {
    uint32_t n;
    uint32_t first; /* row of the panel */
};

#endif
