/* add_rms_norm for PyTorch, and its gradients. */
#include "python/torch/operators.h"

ingot_status torch_op_add_rms_norm(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ROWS);
    const ingot_add_rms_norm_desc desc = {.x = x,
                                          .residual = argument_tensor(call, 1, LAYOUT_ROWS),
                                          .weight = argument_optional_tensor(call, 2, LAYOUT_DENSE),
                                          .out = output_like(call, 0, x),
                                          .sum = output_like(call, 1, x),
                                          .eps = argument_nonzero_float(call, 3)};
    return OPERATOR_RUN(call, ingot_op_add_rms_norm, &desc);
}

ingot_status torch_op_add_rms_norm_backward(struct operator_call *call) {
    const ingot_tensor *sum = argument_tensor(call, 2, LAYOUT_ROWS);
    const ingot_tensor *weight = argument_optional_tensor(call, 3, LAYOUT_DENSE);
    const ingot_add_rms_norm_backward_desc desc = {
        .sum = sum,
        .weight = weight,
        .dy = argument_tensor(call, 0, LAYOUT_ROWS),
        .dsum = argument_optional_tensor(call, 1, LAYOUT_ROWS),
        .dx = output_like(call, 0, sum),
        .dweight = output_like_optional(call, 1, weight, sum->type),
        .eps = argument_nonzero_float(call, 4)};
    return OPERATOR_RUN(call, ingot_op_add_rms_norm_backward, &desc);
}
