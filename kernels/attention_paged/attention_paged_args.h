#ifndef INGOT_KERNELS_ATTENTION_PAGED_ARGS_H
#define INGOT_KERNELS_ATTENTION_PAGED_ARGS_H

#include "common/args.h"

/* One of keys and values: where rows come from and go to. Strides in elements. */
struct cache_rows {
    int64_t token_stride, head_stride; /* of the new rows */
    uint32_t depth, reserved;
};

struct cache_write_args {
    struct cache_rows key, value;
    int64_t slots; /* that the cache has */
    uint32_t tokens, heads;
    uint32_t block;
    uint32_t reserved;
};

#endif
