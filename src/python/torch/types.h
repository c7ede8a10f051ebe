/* Types and devices: torch's numbers and ingot's, and their names for messages. */
#ifndef INGOT_PYTHON_TORCH_TYPES_H
#define INGOT_PYTHON_TORCH_TYPES_H

#include "ingot/ops.h"

#include "python/torch/shim.h"

void torch_types_init(void); /* after torch_shim_load */
/* INGOT_SCALAR_NONE for types that ingot does not compute with. */
ingot_scalar_type torch_to_scalar(int32_t dtype);
int32_t torch_from_scalar(ingot_scalar_type type);
uint64_t torch_scalar_size(ingot_scalar_type type);
const char *torch_dtype_text(int32_t dtype);
const char *torch_device_text(int32_t type, int32_t index, char buffer[32]);

#endif
