/* Norms, softmax and cross entropy. */
#include "python/torch/operators.h"

ingot_status torch_op_rms_norm(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ROWS);
    const ingot_rms_norm_desc desc = {.x = x,
                                      .weight = frame_optional(frame, 1, LAYOUT_DENSE),
                                      .out = frame_like(frame, 0, x),
                                      .eps = frame_nonzero(frame, 2)};
    return FRAME_RUN(frame, ingot_op_rms_norm, &desc);
}

ingot_status torch_op_rms_norm_backward(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 1, LAYOUT_ROWS);
    const ingot_tensor *weight = frame_optional(frame, 2, LAYOUT_DENSE);
    const ingot_rms_norm_backward_desc desc = {.x = x,
                                               .weight = weight,
                                               .dy = frame_tensor(frame, 0, LAYOUT_ROWS),
                                               .dx = frame_like(frame, 0, x),
                                               .dweight =
                                                   frame_like_optional(frame, 1, weight, x->type),
                                               .eps = frame_nonzero(frame, 3)};
    return FRAME_RUN(frame, ingot_op_rms_norm_backward, &desc);
}

ingot_status torch_op_add_rms_norm(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ROWS);
    const ingot_add_rms_norm_desc desc = {.x = x,
                                          .residual = frame_tensor(frame, 1, LAYOUT_ROWS),
                                          .weight = frame_optional(frame, 2, LAYOUT_DENSE),
                                          .out = frame_like(frame, 0, x),
                                          .sum = frame_like(frame, 1, x),
                                          .eps = frame_nonzero(frame, 3)};
    return FRAME_RUN(frame, ingot_op_add_rms_norm, &desc);
}

ingot_status torch_op_add_rms_norm_backward(struct frame *frame) {
    const ingot_tensor *sum = frame_tensor(frame, 2, LAYOUT_ROWS);
    const ingot_tensor *weight = frame_optional(frame, 3, LAYOUT_DENSE);
    const ingot_add_rms_norm_backward_desc desc = {
        .sum = sum,
        .weight = weight,
        .dy = frame_tensor(frame, 0, LAYOUT_ROWS),
        .dsum = frame_optional(frame, 1, LAYOUT_ROWS),
        .dx = frame_like(frame, 0, sum),
        .dweight = frame_like_optional(frame, 1, weight, sum->type),
        .eps = frame_nonzero(frame, 4)};
    return FRAME_RUN(frame, ingot_op_add_rms_norm_backward, &desc);
}

ingot_status torch_op_layer_norm(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ROWS);
    const ingot_layer_norm_desc desc = {.x = x,
                                        .weight = frame_optional(frame, 1, LAYOUT_DENSE),
                                        .bias = frame_optional(frame, 2, LAYOUT_DENSE),
                                        .out = frame_like(frame, 0, x),
                                        .eps = frame_nonzero(frame, 3)};
    return FRAME_RUN(frame, ingot_op_layer_norm, &desc);
}

/* The bias's gradient does not depend on the bias: it comes with that of the weight. */
ingot_status torch_op_layer_norm_backward(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 1, LAYOUT_ROWS);
    const ingot_tensor *weight = frame_optional(frame, 2, LAYOUT_DENSE);
    const ingot_layer_norm_backward_desc desc = {
        .x = x,
        .weight = weight,
        .dy = frame_tensor(frame, 0, LAYOUT_ROWS),
        .dx = frame_like(frame, 0, x),
        .dweight = frame_like_optional(frame, 1, weight, x->type),
        .dbias = frame_like_optional(frame, 2, weight, x->type),
        .eps = frame_nonzero(frame, 3)};
    return FRAME_RUN(frame, ingot_op_layer_norm_backward, &desc);
}

ingot_status torch_op_softmax(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ROWS);
    const ingot_softmax_desc desc = {.x = x,
                                     .mask = frame_optional(frame, 1, LAYOUT_DENSE),
                                     .out = frame_like(frame, 0, x),
                                     .scale = frame_nonzero(frame, 2),
                                     .causal = frame_bool(frame, 3),
                                     .causal_offset = frame_int(frame, 4)};
    return FRAME_RUN(frame, ingot_op_softmax, &desc);
}

ingot_status torch_op_softmax_backward(struct frame *frame) {
    const ingot_tensor *y = frame_tensor(frame, 1, LAYOUT_ROWS);
    const ingot_softmax_backward_desc desc = {.y = y,
                                              .dy = frame_tensor(frame, 0, LAYOUT_ROWS),
                                              .dx = frame_like(frame, 0, y),
                                              .scale = frame_nonzero(frame, 2)};
    return FRAME_RUN(frame, ingot_op_softmax_backward, &desc);
}

ingot_status torch_op_log_softmax(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ROWS);
    const ingot_log_softmax_desc desc = {.x = x, .out = frame_like(frame, 0, x)};
    return FRAME_RUN(frame, ingot_op_log_softmax, &desc);
}

ingot_status torch_op_log_softmax_backward(struct frame *frame) {
    const ingot_tensor *y = frame_tensor(frame, 1, LAYOUT_ROWS);
    const ingot_log_softmax_backward_desc desc = {
        .y = y, .dy = frame_tensor(frame, 0, LAYOUT_ROWS), .dx = frame_like(frame, 0, y)};
    return FRAME_RUN(frame, ingot_op_log_softmax_backward, &desc);
}

static ingot_reduction reduction(struct frame *frame, uint32_t argument) {
    int64_t value = frame_int(frame, argument);
    if (value < INGOT_REDUCTION_MEAN || value > INGOT_REDUCTION_NONE) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "reduction is %lld; it must be 0 (mean), 1 (sum) or 2 (none)", (long long)value);
    }
    return (ingot_reduction)value;
}

/* On the CPU a target out of range is an error, as in torch; on a GPU the host does not look, and
 * the row's loss and gradient are NaN. */
static void check_targets(struct frame *frame, const ingot_cross_entropy_desc *desc) {
    const int64_t classes = frame_extent(desc->logits, -1);
    int64_t first = 0;
    if (frame_outside(frame, desc->targets, classes, &desc->ignore_index, &first)) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "Target %lld is out of bounds: there are %lld classes, and ignore_index is %lld",
                   (long long)first, (long long)classes, (long long)desc->ignore_index);
    }
}

ingot_status torch_op_cross_entropy(struct frame *frame) {
    const ingot_tensor *logits = frame_tensor(frame, 0, LAYOUT_ROWS);
    ingot_cross_entropy_desc desc = {.logits = logits,
                                     .targets = frame_tensor(frame, 1, LAYOUT_DENSE),
                                     .reduction = reduction(frame, 2),
                                     .label_smoothing = (float)frame_float(frame, 3),
                                     .ignore_index = frame_int(frame, 4),
                                     .set_ignore_index = true};
    check_targets(frame, &desc);
    const int64_t rows = frame_extent(logits, 0);
    desc.loss = frame_output(frame, 0, logits->type, desc.reduction == INGOT_REDUCTION_NONE, &rows);
    return FRAME_RUN(frame, ingot_op_cross_entropy, &desc);
}

ingot_status torch_op_cross_entropy_backward(struct frame *frame) {
    const ingot_tensor *logits = frame_tensor(frame, 1, LAYOUT_ROWS);
    const ingot_cross_entropy_desc desc = {.logits = logits,
                                           .targets = frame_tensor(frame, 2, LAYOUT_DENSE),
                                           .dloss = frame_tensor(frame, 0, LAYOUT_DENSE | AS_F32),
                                           .dlogits = frame_like(frame, 0, logits),
                                           .reduction = reduction(frame, 3),
                                           .label_smoothing = (float)frame_float(frame, 4),
                                           .ignore_index = frame_int(frame, 5),
                                           .set_ignore_index = true};
    check_targets(frame, &desc);
    return FRAME_RUN(frame, ingot_op_cross_entropy, &desc);
}
