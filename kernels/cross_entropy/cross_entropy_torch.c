/* cross_entropy for PyTorch, and its gradient. */
#include "python/torch/operators.h"

static ingot_reduction reduction(struct operator_call *call, uint32_t argument) {
    return (ingot_reduction)argument_choice(call, argument, INGOT_REDUCTION_NONE,
                                            "0 (mean), 1 (sum) or 2 (none)");
}

/* On the CPU a target out of range is an error, as in torch; on a GPU the host does not look, and
 * the row's loss and gradient are NaN. */
static void check_targets(struct operator_call *call, const ingot_cross_entropy_desc *desc) {
    const int64_t classes = tensor_extent(desc->logits, -1);
    int64_t first = 0;
    if (argument_count_out_of_range(call, desc->targets, classes, &desc->ignore_index, &first)) {
        operator_call_fail(
            call, INGOT_INVALID_ARGUMENT,
            "Target %lld is out of bounds: there are %lld classes, and ignore_index is %lld",
            (long long)first, (long long)classes, (long long)desc->ignore_index);
    }
}

ingot_status torch_op_cross_entropy(struct operator_call *call) {
    const ingot_tensor *logits = argument_tensor(call, 0, LAYOUT_ROWS);
    ingot_cross_entropy_desc desc = {.logits = logits,
                                     .targets = argument_tensor(call, 1, LAYOUT_DENSE),
                                     .reduction = reduction(call, 2),
                                     .label_smoothing = (float)argument_float(call, 3),
                                     .ignore_index = argument_int(call, 4),
                                     .set_ignore_index = true};
    check_targets(call, &desc);
    const int64_t rows = tensor_extent(logits, 0);
    desc.loss = output_tensor(call, 0, logits->type, desc.reduction == INGOT_REDUCTION_NONE, &rows);
    return OPERATOR_RUN(call, ingot_op_cross_entropy, &desc);
}

ingot_status torch_op_cross_entropy_backward(struct operator_call *call) {
    const ingot_tensor *logits = argument_tensor(call, 1, LAYOUT_ROWS);
    const ingot_cross_entropy_desc desc = {.logits = logits,
                                           .targets = argument_tensor(call, 2, LAYOUT_DENSE),
                                           .dloss = argument_tensor(call, 0, LAYOUT_DENSE | AS_F32),
                                           .dlogits = output_like(call, 0, logits),
                                           .reduction = reduction(call, 3),
                                           .label_smoothing = (float)argument_float(call, 4),
                                           .ignore_index = argument_int(call, 5),
                                           .set_ignore_index = true};
    check_targets(call, &desc);
    return OPERATOR_RUN(call, ingot_op_cross_entropy, &desc);
}
