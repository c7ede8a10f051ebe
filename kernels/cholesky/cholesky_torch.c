/* cholesky for PyTorch. */
#include "python/torch/matrix_arguments.h"
#include "python/torch/operators.h"

ingot_status torch_op_cholesky(struct operator_call *call) {
    const ingot_tensor *a = argument_tensor(call, 0, LAYOUT_ANY);
    const ingot_cholesky_desc desc = {.a = a,
                                      .factor = output_like(call, 0, a),
                                      .info =
                                          output_of_batch(call, 1, a, INGOT_SCALAR_I32, 0, NULL),
                                      .upper = argument_bool(call, 1)};
    return OPERATOR_RUN(call, ingot_op_cholesky, &desc);
}
