#ifndef INGOT_KERNELS_ADD_RMS_NORM_ARGS_H
#define INGOT_KERNELS_ADD_RMS_NORM_ARGS_H

#include "common/args.h"

struct add_rms_norm_args {
    uint64_t rows;
    uint64_t x_stride, residual_stride, sum_stride, out_stride; /* of a row, in elements */
    uint32_t columns;
    uint32_t save_rstd;
    float eps;
    uint32_t past_caches; /* see common/memory_hints.h */
};

#endif
