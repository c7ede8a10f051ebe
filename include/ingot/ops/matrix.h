/* Products of matrices. */
#ifndef INGOT_OPS_MATRIX_H
#define INGOT_OPS_MATRIX_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is done to each element of a result before it is rounded and stored. */
typedef enum ingot_epilogue {
    INGOT_EPILOGUE_NONE = 0,
    INGOT_EPILOGUE_RELU = 1,
    INGOT_EPILOGUE_SILU = 2,
    INGOT_EPILOGUE_GELU = 3,      /* by erf */
    INGOT_EPILOGUE_GELU_TANH = 4, /* by tanh */
} ingot_epilogue;

/* out = epilogue(a b + bias), one type, summed in float32. a is [..., m, k], or [..., k, m] when
 * transposed; b is [..., k, n], or [..., n, k]; out is [..., m, n]. The batch dimensions of out
 * are those of a and of b; an operand without any, or with all of them 1, serves the whole
 * batch. Rows may have any stride, and the batch any one stride, as long as elements of a row are
 * neighbours. bias is [n] or NULL. With k = 0 the product is zero. */
typedef struct ingot_matmul_desc {
    const ingot_tensor *a;
    const ingot_tensor *b;
    const ingot_tensor *bias;
    const ingot_tensor *out;
    bool transpose_a, transpose_b;
    ingot_epilogue epilogue;
} ingot_matmul_desc;
INGOT_API ingot_status ingot_op_matmul(ingot_ops *ops, ingot_stream *stream,
                                       const ingot_matmul_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
