#ifndef INGOT_KERNELS_LOG_SOFTMAX_ARGS_H
#define INGOT_KERNELS_LOG_SOFTMAX_ARGS_H

#include "common/args.h"

struct log_softmax_args {
    uint64_t rows;
    uint64_t x_stride, out_stride; /* of a row, in elements */
    uint32_t columns;
    uint32_t past_caches; /* see common/memory_hints.h */
};

struct log_softmax_backward_args {
    uint64_t rows;
    uint64_t y_stride, dy_stride, dx_stride;
    uint32_t columns;
    uint32_t past_caches; /* see common/memory_hints.h */
};

#endif
