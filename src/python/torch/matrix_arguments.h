/* Arguments and outputs that are batches of matrices. */
#ifndef INGOT_PYTHON_TORCH_MATRIX_ARGUMENTS_H
#define INGOT_PYTHON_TORCH_MATRIX_ARGUMENTS_H

#include "python/torch/operator_call.h"

/* Matrices of any strides, and the extents of one. */
const ingot_tensor *argument_matrix(struct operator_call *call, uint32_t argument, int64_t *rows,
                                    int64_t *columns);
/* An output of the batch of `a` (its dimensions before the last two), with `count`
 * `extents` behind them. */
const ingot_tensor *output_of_batch(struct operator_call *call, uint32_t output,
                                    const ingot_tensor *a, ingot_scalar_type type, uint32_t count,
                                    const int64_t *extents);

static inline int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#endif
