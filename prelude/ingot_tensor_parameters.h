/*
 * Tensors that the host binds, as parameters of kernels: two arguments, the data and, behind it, a
 * __ingot_tensor_layout. `[[buffer(n)]]` is the index of the data; ingot.h says where the layout
 * is.
 */
#pragma once
#include "ingot_parameters.h"
#include "ingot_tensor.h"
