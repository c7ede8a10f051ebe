#ifndef INGOT_KERNELS_POINTWISE_ARGS_H
#define INGOT_KERNELS_POINTWISE_ARGS_H

#include "common/args.h"

enum { POINTWISE_MAX_TENSORS = 5 };

/* Rows of equal length; a dense tensor is one row. A SIMD-group takes `block` elements of a row. */
struct pointwise_args {
    uint64_t rows;
    uint64_t row;                            /* elements of a row */
    uint64_t blocks;                         /* of a row */
    uint64_t strides[POINTWISE_MAX_TENSORS]; /* from row to row, in the order of the buffers */
    uint32_t block;                          /* elements, a multiple of 128 */
    uint32_t past_caches;                    /* see common/memory_hints.h */
    uint32_t eights;                         /* 16-bit types: everything is aligned to 16 bytes */
    uint32_t reserved;
};

#endif
