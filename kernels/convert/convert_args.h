#ifndef INGOT_KERNELS_CONVERT_ARGS_H
#define INGOT_KERNELS_CONVERT_ARGS_H

#include "common/args.h"

struct convert_line_args {
    uint64_t count; /* elements */
};

/* Four dimensions, the innermost last; strides in elements. */
struct convert_args {
    int64_t from_strides[4];
    int64_t to_strides[4];
    uint32_t extents[4];
};

#endif
