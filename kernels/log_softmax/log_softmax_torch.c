/* log_softmax for PyTorch, its gradient, and the overrides of torch's. */
#include "python/torch/operators.h"
#include "python/torch/override_rows.h"

ingot_status torch_op_log_softmax(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ROWS);
    const ingot_log_softmax_desc desc = {.x = x, .out = output_like(call, 0, x)};
    return OPERATOR_RUN(call, ingot_op_log_softmax, &desc);
}

ingot_status torch_op_log_softmax_backward(struct operator_call *call) {
    const ingot_tensor *y = argument_tensor(call, 1, LAYOUT_ROWS);
    const ingot_log_softmax_backward_desc desc = {
        .y = y, .dy = argument_tensor(call, 0, LAYOUT_ROWS), .dx = output_like(call, 0, y)};
    return OPERATOR_RUN(call, ingot_op_log_softmax_backward, &desc);
}

void override__log_softmax(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__log_softmax, stack);
    override_row_function(&call, LIMIT_log_softmax, OPERATOR_log_softmax);
}

void override__log_softmax_backward_data(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__log_softmax_backward_data, stack);
    override_row_gradient(&call, LIMIT_log_softmax_backward, OPERATOR_log_softmax_backward);
}
