/*
 * Operations over the last dimension: norms, softmax, log_softmax, cross entropy, and their
 * backwards. float32, float16 and bfloat16, computed in float32. A row is dense; rows may lie any
 * one stride apart (a stride of 0, the same row again, in inputs only). An output may be the same
 * view as an input of its shape. Empty tensors are fine.
 */
#ifndef INGOT_OPS_ROWS_OPERATIONS_H
#define INGOT_OPS_ROWS_OPERATIONS_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rms_norm: out = x / sqrt(mean(x²) + eps) * weight ------------------------------- */
typedef struct ingot_rms_norm_desc {
    const ingot_tensor *x;      /* [..., C] */
    const ingot_tensor *weight; /* [C] of x's type or float32, dense; optional */
    const ingot_tensor *out;    /* as x */
    const ingot_tensor *rstd;   /* 1 / sqrt(mean(x²) + eps) is stored here: float32, x's shape
                                   without C, dense; optional */
    float eps;                  /* 0 = 1e-6 */
} ingot_rms_norm_desc;
INGOT_API ingot_status ingot_op_rms_norm(ingot_ops *ops, ingot_stream *stream,
                                         const ingot_rms_norm_desc *desc);

/* dx, and dweight if wanted: summed in parts of the rows, in a fixed order. */
typedef struct ingot_rms_norm_backward_desc {
    const ingot_tensor *x, *weight; /* as in the forward call */
    const ingot_tensor *dy;         /* as x */
    const ingot_tensor *rstd;       /* from the forward call; computed again without it */
    const ingot_tensor *dx;         /* as x */
    const ingot_tensor *dweight;    /* [C] of x's type or float32; optional */
    float eps;                      /* 0 = 1e-6 */
} ingot_rms_norm_backward_desc;
INGOT_API ingot_status ingot_op_rms_norm_backward(ingot_ops *ops, ingot_stream *stream,
                                                  const ingot_rms_norm_backward_desc *desc);

/* ---- add_rms_norm: sum = x + residual, rounded to its type; out = rms_norm(sum) -------- */
typedef struct ingot_add_rms_norm_desc {
    const ingot_tensor *x, *residual; /* [..., C] */
    const ingot_tensor *weight;       /* [C] of x's type or float32, dense; optional */
    const ingot_tensor *sum;          /* as x; may be x or residual */
    const ingot_tensor *out;          /* as x; may be x or residual, not sum */
    const ingot_tensor *rstd;         /* as of rms_norm; optional */
    float eps;                        /* 0 = 1e-6 */
} ingot_add_rms_norm_desc;
INGOT_API ingot_status ingot_op_add_rms_norm(ingot_ops *ops, ingot_stream *stream,
                                             const ingot_add_rms_norm_desc *desc);

/* dx is the gradient of x and of residual alike. */
typedef struct ingot_add_rms_norm_backward_desc {
    const ingot_tensor *sum, *weight; /* as in the forward call */
    const ingot_tensor *dy;           /* of out */
    const ingot_tensor *dsum;         /* of sum; optional */
    const ingot_tensor *rstd;         /* from the forward call; computed again without it */
    const ingot_tensor *dx;
    const ingot_tensor *dweight; /* [C] of x's type or float32; optional */
    float eps;                   /* 0 = 1e-6 */
} ingot_add_rms_norm_backward_desc;
INGOT_API ingot_status ingot_op_add_rms_norm_backward(ingot_ops *ops, ingot_stream *stream,
                                                      const ingot_add_rms_norm_backward_desc *desc);

/* ---- layer_norm: out = (x - mean) / sqrt(variance + eps) * weight + bias --------------- */
/* The variance is that of the deviations from the mean, so a mean far from 0 does no harm. */
typedef struct ingot_layer_norm_desc {
    const ingot_tensor *x;             /* [..., C] */
    const ingot_tensor *weight, *bias; /* [C] of x's type or float32, both of one type; optional */
    const ingot_tensor *out;           /* as x */
    const ingot_tensor *mean, *rstd;   /* stored: float32, x's shape without C, dense; optional */
    float eps;                         /* 0 = 1e-5 */
} ingot_layer_norm_desc;
INGOT_API ingot_status ingot_op_layer_norm(ingot_ops *ops, ingot_stream *stream,
                                           const ingot_layer_norm_desc *desc);

typedef struct ingot_layer_norm_backward_desc {
    const ingot_tensor *x, *weight;
    const ingot_tensor *dy;              /* as x */
    const ingot_tensor *mean, *rstd;     /* both, or they are computed again */
    const ingot_tensor *dx;              /* as x */
    const ingot_tensor *dweight, *dbias; /* [C] of x's type or float32; each optional */
    float eps;                           /* 0 = 1e-5 */
} ingot_layer_norm_backward_desc;
INGOT_API ingot_status ingot_op_layer_norm_backward(ingot_ops *ops, ingot_stream *stream,
                                                    const ingot_layer_norm_backward_desc *desc);

/* ---- softmax(x * scale + mask) ----------------------------------------------------------- */
/* A row of which nothing is left (all masked, or all -infinity) is NaN, as the quotient 0 / 0. */
typedef struct ingot_softmax_desc {
    const ingot_tensor *x;    /* [..., T] */
    const ingot_tensor *out;  /* as x */
    const ingot_tensor *mask; /* broadcast to x over leading dimensions (missing or 1): of x's type
                                 or float32, added; or bool, where true takes part. Optional */
    float scale;              /* 0 = 1 */
    bool causal;           /* x is [..., S, T]; column j of row i takes part if j <= i + offset */
    int64_t causal_offset; /* T - S lets the last row see everything */
} ingot_softmax_desc;
INGOT_API ingot_status ingot_op_softmax(ingot_ops *ops, ingot_stream *stream,
                                        const ingot_softmax_desc *desc);

/* dx = scale * y * (dy - sum(y * dy)); the same with and without masks. */
typedef struct ingot_softmax_backward_desc {
    const ingot_tensor *y;  /* what softmax put out */
    const ingot_tensor *dy; /* as y */
    const ingot_tensor *dx; /* as y */
    float scale;            /* 0 = 1 */
} ingot_softmax_backward_desc;
INGOT_API ingot_status ingot_op_softmax_backward(ingot_ops *ops, ingot_stream *stream,
                                                 const ingot_softmax_backward_desc *desc);

/* ---- log_softmax: x - log(sum(exp(x))) ------------------------------------------------------ */
typedef struct ingot_log_softmax_desc {
    const ingot_tensor *x, *out; /* [..., C] */
} ingot_log_softmax_desc;
INGOT_API ingot_status ingot_op_log_softmax(ingot_ops *ops, ingot_stream *stream,
                                            const ingot_log_softmax_desc *desc);

/* dx = dy - exp(y) * sum(dy) */
typedef struct ingot_log_softmax_backward_desc {
    const ingot_tensor *y, *dy, *dx;
} ingot_log_softmax_backward_desc;
INGOT_API ingot_status ingot_op_log_softmax_backward(ingot_ops *ops, ingot_stream *stream,
                                                     const ingot_log_softmax_backward_desc *desc);

/* ---- cross_entropy: loss and gradient together ------------------------------------------- */
typedef enum ingot_reduction {
    INGOT_REDUCTION_MEAN = 0, /* over the rows that are not ignored; NaN when all are */
    INGOT_REDUCTION_SUM = 1,
    INGOT_REDUCTION_NONE = 2,
} ingot_reduction;

/* loss = -(1 - s) * log p[target] - s / V * sum(log p) per row, s the label smoothing. A target
 * outside of [0, V) that is not ignored makes its row NaN. At least one of loss and dlogits is
 * there. */
typedef struct ingot_cross_entropy_desc {
    const ingot_tensor *logits;  /* [N, V] */
    const ingot_tensor *targets; /* [N] int32 or int64, dense */
    const ingot_tensor *loss;    /* [N] for NONE, else [] or [1]; float32 or of the logits' type,
                                    dense;    optional */
    const ingot_tensor *dlogits; /* as logits, and may be the logits; optional */
    const ingot_tensor *dloss;   /* as loss, float32: what dlogits is multiplied with; optional */
    ingot_reduction reduction;
    float label_smoothing;
    int64_t ignore_index;  /* rows with this target have loss and gradient 0 … */
    bool set_ignore_index; /* … when this is set; otherwise -100 is that target */
} ingot_cross_entropy_desc;
INGOT_API ingot_status ingot_op_cross_entropy(ingot_ops *ops, ingot_stream *stream,
                                              const ingot_cross_entropy_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
