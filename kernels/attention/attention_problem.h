/* What the attention operations share on the host: the checks of a problem and its arguments. */
#ifndef INGOT_KERNELS_ATTENTION_PROBLEM_H
#define INGOT_KERNELS_ATTENTION_PROBLEM_H

#include "common/attention_args.h"
#include "ops/call.h"

struct attention_problem {
    const ingot_tensor *q, *k, *v, *out, *lse, *mask, *slopes;
    float scale;
    bool causal;
    uint32_t window;

    struct attention_args args; /* from here on set by igo_attention_check */
    uint32_t batches, key_heads;
    bool nothing; /* no query, or rows of no elements */
};

struct attention_input {
    const char *name;
    const ingot_tensor *tensor; /* or NULL */
};

/* Checks everything and fills the arguments in. False when the call has failed. */
bool igo_attention_check(struct igo_call *call, struct attention_problem *problem);
/* The parts of it that the paged form needs too. */
bool igo_attention_slopes(struct igo_call *call, struct attention_problem *problem);
bool igo_attention_sight(struct igo_call *call, struct attention_problem *problem);
bool igo_attention_lse(struct igo_call *call, struct attention_problem *problem);
/* `out` may be in place of the first input; neither it nor lse shares memory with another. */
bool igo_attention_apart(struct igo_call *call, const struct attention_problem *problem,
                         const struct attention_input *inputs, size_t count);
/* The policy for the problem's class. */
bool igo_attention_policy(struct igo_call *call, const struct attention_problem *problem);
/* Batch, head and row strides of a rank-4 tensor. */
void igo_attention_strides(int64_t strides[3], const ingot_tensor *tensor);
/* An input or output that may be absent or empty: then some memory that is never touched. */
void igo_attention_bind(struct igo_launch *launch, const ingot_tensor *tensor);
/* 64, 128 or 256: the least that holds both depths. */
uint32_t igo_attention_depth_class(const struct attention_args *args);

/* By matrix units of CPUs, where archives, types and sizes allow it; false: nothing was done. */
bool igo_attention_by_units(struct igo_call *call, const struct attention_problem *problem);

/* ---- decoding (kernels/attention_decode) ---- */

extern const struct igo_library igo_library_attention_decode;

/* Few queries: partitions of the keys, then the reduction over them. The problem's args are those
 * of the call; block_table and lengths are NULL unless the flags say paged. */
struct attention_decode {
    const struct attention_problem *problem;
    const ingot_tensor *block_table, *lengths;
    uint32_t partition; /* keys */
    uint32_t wide;      /* as for GPUs, where it can be done: 1 by vectors, 2 by tiles */
};
bool igo_attention_decode(struct igo_call *call, const struct attention_decode *decode);

#endif
