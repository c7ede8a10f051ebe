/* Batches of matrices, for operators of linear algebra. */
#include "python/torch/matrix_arguments.h"

#include <string.h>

const ingot_tensor *argument_matrix(struct operator_call *call, uint32_t argument, int64_t *rows,
                                    int64_t *columns) {
    const ingot_tensor *a = argument_tensor(call, argument, LAYOUT_ANY);
    *rows = tensor_extent(a, -2);
    *columns = tensor_extent(a, -1);
    return a;
}

const ingot_tensor *output_of_batch(struct operator_call *call, uint32_t output,
                                    const ingot_tensor *a, ingot_scalar_type type, uint32_t count,
                                    const int64_t *extents) {
    int64_t shape[INGOT_MAX_RANK + 2] = {0};
    const uint32_t batch = a->rank < 2 ? 0 : a->rank - 2;
    memcpy(shape, a->shape, batch * sizeof *shape);
    if (count) {
        memcpy(shape + batch, extents, count * sizeof *shape);
    }
    return output_tensor(call, output, type, batch + count, shape);
}
