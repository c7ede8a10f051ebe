/* convert for PyTorch. */
#include "python/torch/operators.h"

ingot_status torch_op_convert(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ANY);
    const ingot_convert_desc desc = {
        .from = x, .to = output_tensor(call, 0, argument_dtype(call, 1), x->rank, x->shape)};
    return OPERATOR_RUN(call, ingot_op_convert, &desc);
}
