#ifndef INGOT_KERNELS_AXPY_ARGS_H
#define INGOT_KERNELS_AXPY_ARGS_H

#include "common/args.h"

/* A SIMD-group takes `block` elements. */
struct axpy_args {
    uint64_t count; /* elements */
    uint32_t block; /* a multiple of 128 */
    float alpha;
};

#endif
