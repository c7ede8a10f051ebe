/* Registration of the operators, and the list of them. */
#ifndef INGOT_PYTHON_TORCH_REGISTER_H
#define INGOT_PYTHON_TORCH_REGISTER_H

#include "python/torch/operator_call.h"

#define OPERATOR(name, signature) OPERATOR_##name,
enum {
#include "python/torch/operators.def"
    OPERATOR_COUNT
};
#undef OPERATOR

/* `path` is that of the loaded libtorch_cpu. Does nothing the second time. The caller sees to it
 * that only one thread is in it. */
bool torch_register_operators(const char *path, char *message, size_t size);

/* The same for mps tensors, after it; `path` is that of the loaded library with torch::mps. */
bool torch_register_mps(const char *path, char *message, size_t size);

/* Has it lists, which the torch at hand cannot pass? Python then implements it by torch_call. */
bool torch_needs_python(const struct torch_operator *op);

/* NULL behind the last one. */
const struct torch_operator *torch_operator_at(size_t index);

#endif
