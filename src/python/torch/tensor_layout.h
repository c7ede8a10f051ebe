/* Shapes and strides of ingot's tensors. */
#ifndef INGOT_PYTHON_TORCH_TENSOR_LAYOUT_H
#define INGOT_PYTHON_TORCH_TENSOR_LAYOUT_H

#include "python/torch/operator_call.h"

/* Row-major, without gaps. */
bool tensor_is_dense(const ingot_tensor *tensor);
/* Has it the strides that `layout` (an enum layout, flags aside) asks for? */
bool tensor_fits_layout(const ingot_tensor *tensor, uint32_t layout);
/* The type that the flags of `layout` ask for: the tensor's own, or what it is converted to. */
ingot_scalar_type layout_type(const ingot_tensor *tensor, uint32_t layout);
void tensor_set_dense_strides(ingot_tensor *tensor);
/* Strides of dimensions of extent 1, and of tensors without elements, mean nothing in torch; after
 * this they are usual ones, as ingot's checks expect. */
void tensor_tidy_strides(ingot_tensor *tensor);

#endif
