/* fill_ for PyTorch: its arguments from torch's stack. */
#include "python/torch/operators.h"

ingot_status torch_op_fill_(struct operator_call *call) {
    const ingot_fill_desc desc = {.out =
                                      argument_written_tensor(call, 0, LAYOUT_DENSE | RANK_0_AS_1),
                                  .value = argument_float(call, 1)};
    return OPERATOR_RUN(call, ingot_op_fill, &desc);
}
