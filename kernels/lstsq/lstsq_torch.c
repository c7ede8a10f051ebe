/* lstsq for PyTorch. */
#include "python/torch/matrix_arguments.h"
#include "python/torch/operators.h"

ingot_status torch_op_lstsq(struct operator_call *call) {
    int64_t m, n;
    const ingot_tensor *a = argument_matrix(call, 0, &m, &n);
    const ingot_tensor *b = argument_tensor(call, 1, LAYOUT_ANY);
    const ingot_lstsq_desc desc = {
        .a = a,
        .b = b,
        .x = output_of_batch(call, 0, b, b->type, 2, (int64_t[]){n, tensor_extent(b, -1)}),
        .rank = output_of_batch(call, 1, a, INGOT_SCALAR_I32, 0, NULL),
        .rcond = (float)argument_float(call, 2)};
    return OPERATOR_RUN(call, ingot_op_lstsq, &desc);
}
