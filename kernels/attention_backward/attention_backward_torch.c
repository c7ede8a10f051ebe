/* attention_backward for PyTorch. */
#include "python/torch/operators.h"

ingot_status torch_op_attention_backward(struct operator_call *call) {
    const ingot_tensor *q = argument_tensor(call, 1, LAYOUT_LAST);
    const ingot_tensor *k = argument_tensor(call, 2, LAYOUT_LAST);
    const ingot_tensor *v = argument_tensor(call, 3, LAYOUT_LAST);
    const ingot_attention_backward_desc desc = {
        .q = q,
        .k = k,
        .v = v,
        .dout = argument_tensor(call, 0, LAYOUT_LAST),
        .out = argument_tensor(call, 4, LAYOUT_LAST),
        .lse = argument_tensor(call, 5, LAYOUT_DENSE),
        .mask = argument_optional_tensor(call, 6, LAYOUT_LAST),
        .slopes = argument_optional_tensor(call, 7, LAYOUT_DENSE | AS_F32),
        .dq = output_like(call, 0, q),
        .dk = output_like(call, 1, k),
        .dv = output_like(call, 2, v),
        .scale = (float)argument_float(call, 8),
        .causal = argument_bool(call, 9),
        .window = argument_u32(call, 10)};
    return OPERATOR_RUN(call, ingot_op_attention_backward, &desc);
}
