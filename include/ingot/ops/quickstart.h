/* fill and axpy: the two operations to start with. */
#ifndef INGOT_OPS_QUICKSTART_H
#define INGOT_OPS_QUICKSTART_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out = value, rounded to out's type. out is dense. */
typedef struct ingot_fill_desc {
    const ingot_tensor *out;
    double value;
} ingot_fill_desc;
INGOT_API ingot_status ingot_op_fill(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_fill_desc *desc);

/* y = alpha * x + y, computed in float32 and rounded once. Dense, same shape and type. */
typedef struct ingot_axpy_desc {
    const ingot_tensor *x;
    const ingot_tensor *y; /* read and written */
    float alpha;
} ingot_axpy_desc;
INGOT_API ingot_status ingot_op_axpy(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_axpy_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
