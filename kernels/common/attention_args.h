/* What the attention kernels are told: sizes, strides in elements and which keys a query sees.
 * Query i stands at position i + keys - queries (the last query at the last key), and sees the keys
 * from position - left to position + right. */
#ifndef INGOT_KERNELS_COMMON_ATTENTION_ARGS_H
#define INGOT_KERNELS_COMMON_ATTENTION_ARGS_H

#include "common/args.h"

/* bits of attention_args.flags */
#define ATTENTION_MASK_BOOL 1u /* at most one of the three masks */
#define ATTENTION_MASK_F32  2u
#define ATTENTION_MASK_SAME 4u /* of the type of q */
#define ATTENTION_ALIBI     8u
#define ATTENTION_LSE       16u
#define ATTENTION_PAGED     32u

#define ATTENTION_LANES     32u
#define ATTENTION_NO_LIMIT  (1 << 30) /* for left and right; sizes are at most half of it */

struct attention_args {
    int64_t q_stride[3]; /* batch, head, row */
    int64_t k_stride[3]; /* when paged: block, head, row */
    int64_t v_stride[3];
    int64_t out_stride[3];
    int64_t mask_stride[4]; /* batch, head, query, key; 0 where it is broadcast */
    int64_t slope_stride;   /* batch */
    uint32_t heads;         /* of q */
    uint32_t group;         /* heads of q to one of k and v */
    uint32_t queries, keys;
    uint32_t depth, value_depth; /* of a row of q and k, and of v */
    int32_t left, right;         /* how far a query sees */
    uint32_t flags;
    float scale;
    uint32_t partition;  /* decoding: keys to a partition */
    uint32_t partitions; /* and how many there are */
    uint32_t block;      /* paged: keys to a block */
    uint32_t max_blocks; /* paged: row of the block table */
    uint32_t blocks;     /* paged: of the cache; not 0 unless there are no keys */
    uint32_t reserved;
};

/* The backward pass reads these besides. */
struct attention_backward_args {
    int64_t dout_stride[3];
    int64_t dq_stride[3];
    int64_t dk_stride[3];
    int64_t dv_stride[3];
    uint32_t query_blocks, key_blocks; /* threadgroups of a head, where one launch has both */
};

#endif
