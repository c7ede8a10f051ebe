/* softmax for PyTorch, its gradient, and the overrides of torch's. */
#include "python/torch/operators.h"
#include "python/torch/override_rows.h"

ingot_status torch_op_softmax(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ROWS);
    const ingot_softmax_desc desc = {.x = x,
                                     .mask = argument_optional_tensor(call, 1, LAYOUT_DENSE),
                                     .out = output_like(call, 0, x),
                                     .scale = argument_nonzero_float(call, 2),
                                     .causal = argument_bool(call, 3),
                                     .causal_offset = argument_int(call, 4)};
    return OPERATOR_RUN(call, ingot_op_softmax, &desc);
}

ingot_status torch_op_softmax_backward(struct operator_call *call) {
    const ingot_tensor *y = argument_tensor(call, 1, LAYOUT_ROWS);
    const ingot_softmax_backward_desc desc = {.y = y,
                                              .dy = argument_tensor(call, 0, LAYOUT_ROWS),
                                              .dx = output_like(call, 0, y),
                                              .scale = argument_nonzero_float(call, 2)};
    return OPERATOR_RUN(call, ingot_op_softmax_backward, &desc);
}

void override__softmax(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__softmax, stack);
    override_row_function(&call, LIMIT_softmax, OPERATOR_softmax);
}

void override__softmax_backward_data(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__softmax_backward_data, stack);
    override_row_gradient(&call, LIMIT_softmax_backward, OPERATOR_softmax_backward);
}
