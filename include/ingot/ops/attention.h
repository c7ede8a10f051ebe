/*
 * Attention: softmax(scale * q kT + bias) v, row by row with online softmax; float32 accumulation.
 *
 * Shapes: q [B, Hq, S, D], k [B, Hkv, T, D], v [B, Hkv, T, Dv], out [B, Hq, S, Dv]. Hq is a
 * multiple of Hkv (grouped and multi-query heads: query head h reads key head h / (Hq / Hkv)).
 * D and Dv are 1 to 256; best are multiples of 8. All of one type, any strides, last dimension
 * dense.
 *
 * Positions: query i stands at position i + T - S, so the last query stands at the last key
 * ("bottom right"). `causal` lets it see keys up to its own position; `window` = W > 0 those less
 * than W positions away, to both sides (with `causal`, W keys with its own). A query that sees no
 * key gets 0 in `out` and -infinity in `lse`. A NaN or infinity in a row of k or v that is masked
 * for a query may still reach that query.
 */
#ifndef INGOT_OPS_ATTENTION_H
#define INGOT_OPS_ATTENTION_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ingot_attention_desc {
    const ingot_tensor *q, *k, *v;
    const ingot_tensor *out;
    const ingot_tensor *lse; /* optional, float32 [B, Hq, S], dense: log of the sum of exp(score) */
    /* Optional: boolean (true = seen), or float32 or the type of q and added to the scores. Rank 1
     * to 4, lined up from the right with [B, Hq, S, T]; dimensions of size 1 are broadcast. */
    const ingot_tensor *mask;
    /* Optional ALiBi: float32 [Hq] or [B, Hq], dense; adds -slope * |position - key|. */
    const ingot_tensor *slopes;
    float scale; /* 0 = 1 / sqrt(D) */
    bool causal;
    uint32_t window; /* 0 = none */
} ingot_attention_desc;
INGOT_API ingot_status ingot_op_attention(ingot_ops *ops, ingot_stream *stream,
                                          const ingot_attention_desc *desc);

/* The gradients of the same call. Sums run in a fixed order: results do not depend on timing. */
typedef struct ingot_attention_backward_desc {
    const ingot_tensor *q, *k, *v;
    const ingot_tensor *out, *lse; /* what the forward call put out */
    const ingot_tensor *dout;      /* shape of out */
    const ingot_tensor *mask, *slopes;
    const ingot_tensor *dq;      /* shape of q; optional */
    const ingot_tensor *dk, *dv; /* shapes of k and v; optional, both or none */
    float scale;
    bool causal;
    uint32_t window;
} ingot_attention_backward_desc;
INGOT_API ingot_status ingot_op_attention_backward(ingot_ops *ops, ingot_stream *stream,
                                                   const ingot_attention_backward_desc *desc);

/* ---- paged key and value cache ------------------------------------------------------ */
/*
 * A cache is [blocks, Hkv, block, D] (values: Dv), dense: `block` consecutive positions of one
 * sequence, head by head. A slot is block number * block + position in the block. Sequence b keeps
 * position t in block block_table[b][t / block]. Numbers of blocks that the cache does not have
 * read its last one.
 */

/* Attention over the cache, for decoding: the S queries of a sequence are its last S positions, and
 * each sees the keys up to its own. */
typedef struct ingot_attention_paged_desc {
    const ingot_tensor *q; /* [B, Hq, S, D] */
    const ingot_tensor *key_cache, *value_cache;
    const ingot_tensor *block_table; /* int32 [B, max_blocks], dense */
    const ingot_tensor *lengths; /* int32 [B], dense: positions of each sequence, new ones too */
    const ingot_tensor *out;     /* [B, Hq, S, Dv] */
    const ingot_tensor *lse;     /* optional, float32 [B, Hq, S], dense */
    const ingot_tensor *slopes;  /* optional ALiBi, as above */
    float scale;
    uint32_t window;
    /* The longest of `lengths`, where the caller knows it; longer ones are cut there. 0 =
     * max_blocks * block. */
    uint32_t max_length;
} ingot_attention_paged_desc;
INGOT_API ingot_status ingot_op_attention_paged(ingot_ops *ops, ingot_stream *stream,
                                                const ingot_attention_paged_desc *desc);

/* Writes the rows of new tokens into their slots. Slots that are negative or past the end of the
 * cache are left out; of equal slots, one wins. */
typedef struct ingot_cache_write_desc {
    const ingot_tensor *key, *value; /* [tokens, Hkv, D], [tokens, Hkv, Dv]; last dimension dense */
    const ingot_tensor *slots;       /* int32 or int64 [tokens], dense */
    const ingot_tensor *key_cache, *value_cache;
} ingot_cache_write_desc;
INGOT_API ingot_status ingot_op_cache_write(ingot_ops *ops, ingot_stream *stream,
                                            const ingot_cache_write_desc *desc);

/* Copies whole blocks, keys and values, in order, by blits: within a cache (copy on write), or from
 * another one (swapping out and in). */
typedef struct ingot_cache_copy_desc {
    const ingot_tensor *key_cache, *value_cache;           /* written */
    const ingot_tensor *from_key_cache, *from_value_cache; /* NULL = the same caches */
    const int64_t (*pairs)[2];                             /* {from, to} block numbers */
    size_t pair_count;
} ingot_cache_copy_desc;
INGOT_API ingot_status ingot_op_cache_copy(ingot_ops *ops, ingot_stream *stream,
                                           const ingot_cache_copy_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
