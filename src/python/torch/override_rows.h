/* What the overrides of functions over rows share: those whose kernels in torch take the dimension
 * and the type, as softmax's. */
#ifndef INGOT_PYTHON_TORCH_OVERRIDE_ROWS_H
#define INGOT_PYTHON_TORCH_OVERRIDE_ROWS_H

#include "python/torch/override.h"
#include "python/torch/register.h"

/* aten::NAME(Tensor x, int dim, bool half_to_float): runs operator number `op`, whose first
 * argument is x and whose others are a mask (none), a scale (1), causal (no) and an offset, or
 * fewer of these. */
void override_row_function(struct override_call *call, enum limit limit, size_t op);
/* aten::NAME(Tensor d_out, Tensor out, int dim, ScalarType dtype): the operator takes d_out, out,
 * and perhaps a scale (1). */
void override_row_gradient(struct override_call *call, enum limit limit, size_t op);

#endif
