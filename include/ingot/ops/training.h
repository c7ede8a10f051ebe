/* Optimisers over many tensors at once, and the norm of their gradients. */
#ifndef INGOT_OPS_TRAINING_H
#define INGOT_OPS_TRAINING_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter and what belongs to it. All have the same number of elements and are dense. */
typedef struct ingot_adam_tensors {
    const ingot_tensor *param;          /* float32, float16 or bfloat16; updated */
    const ingot_tensor *grad;           /* the type of param, or float32 */
    const ingot_tensor *exp_avg;        /* float32; updated */
    const ingot_tensor *exp_avg_sq;     /* float32; updated */
    const ingot_tensor *max_exp_avg_sq; /* with amsgrad: float32; updated */
    const ingot_tensor *master; /* optional: float32, the parameter before rounding; updated,
                                   and param becomes its rounded value */
} ingot_adam_tensors;

/*
 * One step of Adam for all tensors, computed in float32:
 *
 *     g = grad                      adam: + weight_decay * param
 *     exp_avg    = beta1 * exp_avg + (1 - beta1) * g
 *     exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
 *     param     -= lr * m / (sqrt(v) + eps)         adamw: - lr * weight_decay * param
 *
 * with m = exp_avg / (1 - beta1^step), v = exp_avg_sq / (1 - beta2^step). Tensors of one pair of
 * types share one launch, however many they are.
 */
typedef struct ingot_adam_desc {
    const ingot_adam_tensors *tensors;
    size_t count;
    double lr;
    double beta1; /* 0 = 0.9; negative = none */
    double beta2; /* 0 = 0.999; negative = none */
    double eps;   /* 0 = 1e-8; negative = none */
    double weight_decay;
    int64_t step; /* from 1 */
    bool maximize;
    bool amsgrad;
    /* Clipping: gradients are multiplied by min(1, max_norm / (norm + 1e-6)), where norm is a
     * float32 tensor of one element that ingot_op_grad_norm wrote on the same stream. NULL = no
     * clipping. */
    const ingot_tensor *norm;
    double max_norm;
} ingot_adam_desc;
INGOT_API ingot_status ingot_op_adamw(ingot_ops *ops, ingot_stream *stream,
                                      const ingot_adam_desc *desc);
INGOT_API ingot_status ingot_op_adam(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_adam_desc *desc);

/* norm = the root of the sum of the squares of all elements, accumulated in float32 in an order
 * that depends on the sizes and the launch policy alone. */
typedef struct ingot_grad_norm_desc {
    const ingot_tensor *const *grads; /* dense; float32, float16 or bfloat16, mixed or not */
    size_t count;
    const ingot_tensor *norm; /* float32, one element */
} ingot_grad_norm_desc;
INGOT_API ingot_status ingot_op_grad_norm(ingot_ops *ops, ingot_stream *stream,
                                          const ingot_grad_norm_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
