/*
 * Bags of embeddings: rows of a table are looked up and reduced, a bag at a time.
 *
 * table    [v, d], dense rows of any stride
 * indices  i32 or i64. Either [n] with offsets, or [bags, length] without.
 * offsets  [bags] of the indices' type: where each bag starts; the last one ends at n. With
 * include_last_offset [bags + 1], the last being n. They must not decrease. An empty bag (or one of
 * padding only) gives 0. An index outside 0 … v-1 contributes nothing and is counted in `errors`,
 * if that is given.
 */
#ifndef INGOT_OPS_EMBEDDING_H
#define INGOT_OPS_EMBEDDING_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ingot_bag_mode {
    INGOT_BAG_SUM = 0,
    INGOT_BAG_MEAN = 1, /* over the indices that count */
    INGOT_BAG_MAX = 2,  /* the largest per column */
} ingot_bag_mode;

typedef struct ingot_bags { /* what forward and backward have in common */
    const ingot_tensor *indices;
    const ingot_tensor *offsets; /* NULL: indices are [bags, length] */
    const ingot_tensor
        *sample_weights; /* [n] or like indices, of the table's type; sum only; NULL: 1 */
    ingot_bag_mode mode;
    bool include_last_offset;
    bool has_padding;
    int64_t padding_index; /* such indices do not count; negative ones count from the end */
} ingot_bags;

typedef struct ingot_embedding_bag_desc {
    const ingot_tensor *table;
    ingot_bags bags;
    const ingot_tensor *out;     /* [bags, d], of the table's type */
    const ingot_tensor *largest; /* max only: i32 [bags, d], the row each element came from, -1 for
                                    none; the backward needs it; NULL: not wanted */
    const ingot_tensor
        *errors; /* i32 [1]: indices out of range are added to it; NULL: not wanted */
} ingot_embedding_bag_desc;
INGOT_API ingot_status ingot_op_embedding_bag(ingot_ops *ops, ingot_stream *stream,
                                              const ingot_embedding_bag_desc *desc);

/* The table's gradient, dense, in a fixed order of additions (the result is the same every time),
 * and that of the sample weights. */
typedef struct ingot_embedding_bag_backward_desc {
    const ingot_tensor *d_out; /* [bags, d] */
    ingot_bags bags;
    const ingot_tensor *table;            /* for d_sample_weights; else NULL */
    const ingot_tensor *largest;          /* max: from the forward; else NULL */
    const ingot_tensor *d_table;          /* [v, d], overwritten */
    const ingot_tensor *d_sample_weights; /* like sample_weights; NULL: not wanted */
} ingot_embedding_bag_backward_desc;
INGOT_API ingot_status ingot_op_embedding_bag_backward(
    ingot_ops *ops, ingot_stream *stream, const ingot_embedding_bag_backward_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
