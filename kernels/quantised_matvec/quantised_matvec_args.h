#ifndef INGOT_KERNELS_QUANTISED_MATVEC_ARGS_H
#define INGOT_KERNELS_QUANTISED_MATVEC_ARGS_H

#include "common/args.h"

struct quantised_matvec_args {
    uint64_t x_stride, out_stride; /* from one vector to the next, in elements */
    uint32_t rows, columns;        /* of the weights: n and k */
    uint32_t vectors;              /* of this launch */
    uint32_t group_shift;          /* a group is 32 << group_shift elements */
    uint32_t has_bias;             /* the output's */
    uint32_t sixteens;             /* two of 16.0 in the type of x, if that has 16 bits */
    uint32_t block, across_shift; /* single vectors by tiles: rows of a threadgroup; a row is shared
                                     by 1 << across_shift SIMD-groups */
};

/* The most rows of a block, a multiple of 32. */
#define QUANTISED_BLOCK 128

#endif
