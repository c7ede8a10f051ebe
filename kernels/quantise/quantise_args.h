#ifndef INGOT_KERNELS_QUANTISE_ARGS_H
#define INGOT_KERNELS_QUANTISE_ARGS_H

#include "common/args.h"

struct quantise_args {
    uint64_t groups; /* in all rows together: groups do not care about rows */
    uint32_t group_size;
    uint32_t reserved;
};

#endif
