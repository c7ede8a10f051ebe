/* rope and its gradient for PyTorch. */
#include "python/torch/operators.h"

static ingot_rope_desc rope(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_LAST);
    return (ingot_rope_desc){.x = x,
                             .out = output_like(call, 0, x),
                             .positions = argument_optional_tensor(call, 1, LAYOUT_DENSE),
                             .cos = argument_optional_tensor(call, 2, LAYOUT_LAST),
                             .sin = argument_optional_tensor(call, 3, LAYOUT_LAST),
                             .offset = argument_int(call, 4),
                             .dims = argument_int(call, 5),
                             .interleaved = argument_bool(call, 6),
                             .base = argument_float(call, 7),
                             .scale = argument_nonzero_float(call, 8)};
}

ingot_status torch_op_rope(struct operator_call *call) {
    const ingot_rope_desc desc = rope(call);
    return OPERATOR_RUN(call, ingot_op_rope, &desc);
}

ingot_status torch_op_rope_backward(struct operator_call *call) {
    const ingot_rope_desc desc = rope(call);
    return OPERATOR_RUN(call, ingot_op_rope_backward, &desc);
}
