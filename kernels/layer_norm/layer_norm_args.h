#ifndef INGOT_KERNELS_LAYER_NORM_ARGS_H
#define INGOT_KERNELS_LAYER_NORM_ARGS_H

#include "common/args.h"

struct layer_norm_args {
    uint64_t rows;
    uint64_t x_stride, out_stride; /* of a row, in elements */
    uint32_t columns;
    uint32_t save_mean, save_rstd, has_bias;
    float eps;
    uint32_t past_caches; /* see common/memory_hints.h */
};

struct layer_norm_backward_args {
    uint64_t rows;
    uint64_t x_stride, dy_stride, dx_stride;
    uint64_t part; /* rows of a part */
    uint32_t columns;
    uint32_t has_statistics;
    uint32_t sum_weight, sum_bias; /* the parts' sums for dweight and dbias are wanted */
    float eps;
    uint32_t past_caches; /* see common/memory_hints.h */
};

#endif
