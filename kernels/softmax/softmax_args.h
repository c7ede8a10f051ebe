#ifndef INGOT_KERNELS_SOFTMAX_ARGS_H
#define INGOT_KERNELS_SOFTMAX_ARGS_H

#include "common/args.h"

struct softmax_args {
    uint64_t rows;
    uint64_t x_stride, out_stride; /* of a row, in elements */
    uint64_t mask_extents[2];      /* row number = (a * extents[0] + b) * extents[1] + c */
    uint64_t mask_strides[3];      /* of a, b and c */
    uint64_t queries;              /* rows of a score matrix, when causal */
    int64_t causal_offset;
    uint32_t columns;
    uint32_t causal;
    float scale;
    uint32_t past_caches; /* see common/memory_hints.h */
};

struct softmax_backward_args {
    uint64_t rows;
    uint64_t y_stride, dy_stride, dx_stride;
    uint32_t columns;
    float scale;
    uint32_t past_caches;
    uint32_t reserved;
};

#endif
