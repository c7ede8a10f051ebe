/* triangular_solve for PyTorch. */
#include "python/torch/operators.h"

ingot_status torch_op_triangular_solve(struct operator_call *call) {
    const ingot_tensor *b = argument_tensor(call, 1, LAYOUT_ANY);
    const ingot_triangular_solve_desc desc = {.a = argument_tensor(call, 0, LAYOUT_ANY),
                                              .b = b,
                                              .x = output_like(call, 0, b),
                                              .upper = argument_bool(call, 2),
                                              .transposed = argument_bool(call, 3),
                                              .unit = argument_bool(call, 4),
                                              .right = argument_bool(call, 5)};
    return OPERATOR_RUN(call, ingot_op_triangular_solve, &desc);
}
