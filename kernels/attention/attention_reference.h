/* Attention and its gradients in double precision, by plain loops. */
#ifndef INGOT_KERNELS_ATTENTION_REFERENCE_H
#define INGOT_KERNELS_ATTENTION_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct attention_reference {
    int64_t batches, heads, key_heads, queries, keys, depth, value_depth;
    int64_t window; /* 0 = none */
    bool causal;
    double scale;
    const double *q, *k, *v; /* dense */
    const double *mask;      /* NULL = none */
    bool mask_is_bool;
    int64_t mask_shape[4];
    const double *slopes; /* NULL = none */
    bool slopes_by_batch;
};

/* out [B, Hq, S, Dv], lse [B, Hq, S]; either may be NULL. False when memory is out. */
bool attention_reference_forward(const struct attention_reference *r, double *out, double *lse);
/* The gradients for dout [B, Hq, S, Dv]; each may be NULL. */
bool attention_reference_backward(const struct attention_reference *r, const double *dout,
                                  double *dq, double *dk, double *dv);

#endif
