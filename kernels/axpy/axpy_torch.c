/* axpy and axpy_ for PyTorch. */
#include "python/torch/operators.h"

ingot_status torch_op_axpy_(struct operator_call *call) {
    const ingot_axpy_desc desc = {.y = argument_written_tensor(call, 0, LAYOUT_DENSE | RANK_0_AS_1),
                                  .x = argument_tensor(call, 1, LAYOUT_DENSE | RANK_0_AS_1),
                                  .alpha = (float)argument_float(call, 2)};
    return OPERATOR_RUN(call, ingot_op_axpy, &desc);
}

/* y is copied to the output, and x is added there. */
ingot_status torch_op_axpy(struct operator_call *call) {
    const ingot_tensor *y = argument_tensor(call, 1, LAYOUT_ANY);
    const ingot_axpy_desc desc = {.y = output_like(call, 0, y),
                                  .x = argument_tensor(call, 0, LAYOUT_DENSE),
                                  .alpha = (float)argument_float(call, 2)};
    const ingot_convert_desc copy = {.from = y, .to = desc.y};
    ingot_status status = OPERATOR_RUN(call, ingot_op_convert, &copy);
    return status ? status : OPERATOR_RUN(call, ingot_op_axpy, &desc);
}
