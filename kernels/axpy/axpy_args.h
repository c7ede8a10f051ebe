#ifndef INGOT_KERNELS_AXPY_ARGS_H
#define INGOT_KERNELS_AXPY_ARGS_H

#include "common/args.h"

struct axpy_args {
    uint64_t count; /* elements */
    float alpha;
    uint32_t reserved;
};

#endif
