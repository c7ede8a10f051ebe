/*
 * One function for each operator that a description kernels/NAME/NAME.py has, in NAME_torch.c
 * beside it: it takes its arguments from torch's stack, by their place in the schema, and runs the
 * operation. One that is missing fails the link, by name: the declarations are hidden, so that it
 * cannot be left to the loader.
 */
#ifndef INGOT_PYTHON_TORCH_OPERATORS_H
#define INGOT_PYTHON_TORCH_OPERATORS_H

#include "python/torch/operator_call.h"

#pragma GCC visibility push(hidden)
#define OPERATOR(name, signature) ingot_status torch_op_##name(struct operator_call *);
#include "python/torch/operators.def"
#undef OPERATOR
#pragma GCC visibility pop

#endif
