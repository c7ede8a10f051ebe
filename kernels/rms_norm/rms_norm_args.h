#ifndef INGOT_KERNELS_RMS_NORM_ARGS_H
#define INGOT_KERNELS_RMS_NORM_ARGS_H

#include "common/args.h"

struct rms_norm_args {
    uint64_t rows;
    uint64_t x_stride, out_stride; /* of a row, in elements */
    uint32_t columns;
    uint32_t save_rstd;
    float eps;
    uint32_t past_caches; /* see common/memory_hints.h */
};

struct rms_norm_backward_args {
    uint64_t rows;
    uint64_t x_stride, dy_stride, add_stride, dx_stride;
    uint64_t part; /* rows of a part */
    uint32_t columns;
    uint32_t has_rstd, has_add;
    uint32_t sum_weight; /* the parts' sums for dweight are wanted */
    float eps;
    uint32_t past_caches; /* see common/memory_hints.h */
};

#endif
