#ifndef INGOT_KERNELS_QUANTISE_ARGS_H
#define INGOT_KERNELS_QUANTISE_ARGS_H

#include "common/args.h"

struct quantise_args {
    uint64_t groups; /* in all rows together: groups do not care about rows */
    uint32_t group_size;
    uint32_t reserved;
};

/* quantise_rows.h: threads of a threadgroup, and what a SIMD-group has of k at a time. */
#define QUANTISED_ROWS_THREADS 256
#define QUANTISED_SLICE        64

struct quantised_rows_args {
    uint32_t group_shift; /* a group is 1 << this elements */
    uint32_t large;       /* one of the following, by type */
};

/* What two numbers are set into: twice 1024 of half or 128 of bfloat; where the second one stands
 * four or three bits higher (quantise_wide.h, 4 bits), 64 or 16 there. */
#define QUANTISED_LARGE_F16       0x64006400u
#define QUANTISED_LARGE_BF16      0x43004300u
#define QUANTISED_LARGE_HIGH_F16  0x54006400u
#define QUANTISED_LARGE_HIGH_BF16 0x41804300u

#endif
