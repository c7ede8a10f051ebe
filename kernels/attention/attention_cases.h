/* What the cases of attention and of its backward share: how a case is written, and its tensors. */
#ifndef INGOT_KERNELS_ATTENTION_CASES_H
#define INGOT_KERNELS_ATTENTION_CASES_H

#include "attention/attention_reference.h"
#include "harness/harness.h"

/* n: batches, heads, key heads, queries, keys, head size, head size of v (0 = the same), window;
 * f[0]: scale (0 = the default) */
enum { N_BATCHES, N_HEADS, N_KEY_HEADS, N_QUERIES, N_KEYS, N_DEPTH, N_VALUE_DEPTH, N_WINDOW };
enum { /* flags */
       CAUSAL = 1,
       MASK_BOOL = 2,
       MASK_F32 = 4,
       MASK_SAME = 8,
       MASK_ROWS = 16, /* the mask is [S, T]; otherwise [B, 1, S, T] */
       ALIBI = 32,
       LSE = 64,
       STRIDED = 128,         /* q, k, v as [B, S, H, D] in memory */
       WHOLE_WINDOW = 256,    /* also with a window of the whole length: the same bits */
       EXPANDED = 512,        /* also with the key head repeated by a stride of 0: the same bits */
       FAR = 1024,            /* key rows so far apart that offsets pass 2^31 */
       MASK_NONE_SEEN = 2048, /* the mask hides everything from some queries */
       ROWS_APART = 4096,     /* the same as STRIDED, and rows begin at multiples of 16 bytes */
       WORDS_OF_Q = 8192,     /* q begins at a multiple of two elements only */
};
enum { Q, K, V, MASK, SLOPES, OUT, LSE_OUT, DOUT, DQ, DK, DV };

/* Their names, for reports. */
extern const char *const attention_size_names[], *const attention_number_names[],
                                                     *const attention_flag_names[];

/* Declares q, k, v, mask, slopes of the case. */
void attention_declare_inputs(struct igh_run *run);
/* A [B, H, rows, depth] tensor that is [B, rows, H, depth] in memory. */
void attention_swap_heads(struct igh_run *run, int slot, int64_t offset);
/* The forward call on the slots. */
ingot_attention_desc attention_desc_of(const struct igh_run *run);
/* The reference's problem from the slots' values. */
struct attention_reference attention_reference_of(const struct igh_run *run);
/* Pairs of query and key that are seen, over all heads: for cost. */
double attention_pairs(const struct igh_run *run);
/* What a call of that variant may lose in `out` by rounding weights to numbers of its type. */
double attention_rounding_of_weights(const struct igh_run *run, const char *variant);

#endif
