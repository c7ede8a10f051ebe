#ifndef INGOT_KERNELS_TRIANGULAR_ARGS_H
#define INGOT_KERNELS_TRIANGULAR_ARGS_H

#include "common/args.h"

/* Solves a lower triangular system; strides may be negative, which makes it an upper one from the
 * other end, and exchanged, which transposes it. In elements. */
struct triangular_args {
    int64_t a_first, a_row, a_column, a_matrix;
    int64_t x_first, x_row, x_matrix;
    uint32_t n, columns;
    uint32_t unit;
    uint32_t reserved;
};

#endif
