#ifndef INGOT_KERNELS_EMBEDDING_BAG_ARGS_H
#define INGOT_KERNELS_EMBEDDING_BAG_ARGS_H

#include "common/args.h"

/* Rows of the table that one SIMD-group scans when entries are gathered by row. */
#define BAG_BLOCK 2048

struct embedding_bag_args {
    int64_t rows;          /* of the table */
    int64_t padding;       /* an index that does not count; -1: none */
    uint64_t table_stride; /* from row to row, in elements; of d_table in the backward */
    uint64_t out_stride;
    uint64_t entries; /* indices in all bags */
    uint32_t bags;
    uint32_t length; /* of a bag, when there are no offsets */
    uint32_t columns;
    uint32_t owners;      /* backward: SIMD-groups that share the rows of the table */
    uint32_t past_caches; /* the table's gradient is not kept in them */
    uint32_t unused;
};

#endif
