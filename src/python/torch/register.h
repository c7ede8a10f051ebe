/* Registration of the operators, and the list of them. */
#ifndef INGOT_PYTHON_TORCH_REGISTER_H
#define INGOT_PYTHON_TORCH_REGISTER_H

#include "python/torch/frame.h"

#define SCHEMA(name, signature) OPERATION_##name,
enum {
#include "python/torch/schemas.def"
    OPERATION_COUNT
};
#undef SCHEMA

/* `path` is that of the loaded libtorch_cpu. Does nothing the second time. The caller sees to it
 * that only one thread is in it. */
bool torch_register_operators(const char *path, char *message, size_t size);

/* Has it lists, which the torch at hand cannot pass? Python then implements it by torch_call. */
bool torch_needs_python(const struct operation *operation);

/* NULL behind the last one. */
const struct operation *torch_operation(size_t index);

#endif
