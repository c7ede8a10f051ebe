/* One function for each line of schemas.def, in the file of its family. */
#ifndef INGOT_PYTHON_TORCH_OPERATORS_H
#define INGOT_PYTHON_TORCH_OPERATORS_H

#include "python/torch/frame.h"

#define SCHEMA(name, signature) ingot_status torch_op_##name(struct frame *);
#include "python/torch/schemas.def"
#undef SCHEMA

#endif
