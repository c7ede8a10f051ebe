#ifndef INGOT_KERNELS_LSTSQ_ARGS_H
#define INGOT_KERNELS_LSTSQ_ARGS_H

#include "common/args.h"

/* Sizes of one matrix of the batch; a is worked on in place, and so is b. b may have more rows than
 * a, of which the first are used. */
struct lstsq_args {
    uint64_t b_stride; /* between matrices */
    uint32_t rows, columns;
    uint32_t right_sides;
    float rcond;
    uint32_t tried; /* matrices with a rank that is not negative are done */
    uint32_t reserved;
};

#endif
