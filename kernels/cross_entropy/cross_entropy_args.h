#ifndef INGOT_KERNELS_CROSS_ENTROPY_ARGS_H
#define INGOT_KERNELS_CROSS_ENTROPY_ARGS_H

#include "common/args.h"

struct cross_entropy_args {
    int64_t ignore_index;
    uint64_t rows;
    uint64_t logits_stride, dlogits_stride; /* of a row, in elements */
    uint32_t columns;
    uint32_t wide_targets; /* 64-bit targets */
    uint32_t save_loss, save_gradient;
    uint32_t mean;      /* of the rows that count, whose number is in `counted` */
    uint32_t has_dloss; /* 1: one number; 2: one per row */
    float label_smoothing;
    uint32_t reserved;
};

#endif
