/* lu and solve for PyTorch. */
#include "python/torch/matrix_arguments.h"
#include "python/torch/operators.h"

ingot_status torch_op_lu(struct operator_call *call) {
    int64_t m, n;
    const ingot_tensor *a = argument_matrix(call, 0, &m, &n);
    const ingot_lu_desc desc = {
        .a = a,
        .lu = output_like(call, 0, a),
        .pivots = output_of_batch(call, 1, a, INGOT_SCALAR_I32, 1, (int64_t[]){min_i64(m, n)}),
        .info = output_of_batch(call, 2, a, INGOT_SCALAR_I32, 0, NULL)};
    return OPERATOR_RUN(call, ingot_op_lu, &desc);
}

ingot_status torch_op_solve(struct operator_call *call) {
    const ingot_tensor *a = argument_tensor(call, 0, LAYOUT_ANY);
    const ingot_tensor *b = argument_tensor(call, 1, LAYOUT_ANY);
    const ingot_solve_desc desc = {.a = a,
                                   .b = b,
                                   .x = output_like(call, 0, b),
                                   .info = output_of_batch(call, 1, a, INGOT_SCALAR_I32, 0, NULL)};
    return OPERATOR_RUN(call, ingot_op_solve, &desc);
}
