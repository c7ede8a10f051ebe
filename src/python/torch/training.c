/* Optimisers over lists of tensors, and the norm of their gradients. */
#include "python/torch/operators.h"

#include <stdlib.h>

enum {
    PARAMS,
    GRADS,
    EXP_AVGS,
    EXP_AVG_SQS,
    MAX_EXP_AVG_SQS,
    MASTERS,
    NORM,
    LR,
    BETA1,
    BETA2,
    EPS
};
enum { WEIGHT_DECAY = EPS + 1, STEP, MAXIMIZE, AMSGRAD, MAX_NORM };

/* 0 means "default" to the operation, and a negative number none. */
static double or_none(double value) {
    return value == 0 ? -1 : value;
}

static void check_lengths(struct frame *frame, bool amsgrad, bool masters) {
    size_t count = frame_count(frame, PARAMS);
    for (uint32_t i = GRADS; i <= MASTERS; i++) {
        bool there = i < MAX_EXP_AVG_SQS || (i == MAX_EXP_AVG_SQS ? amsgrad : masters);
        if (there && frame_count(frame, i) != count) {
            frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s has %zu tensors, but params has %zu",
                       frame->operation->arguments[i].name, frame_count(frame, i), count);
        }
    }
}

static ingot_adam_tensors adam_tensors(struct frame *frame, size_t index, bool amsgrad,
                                       bool masters) {
    uint32_t lists[6] = {PARAMS, GRADS, EXP_AVGS, EXP_AVG_SQS}, count = 4;
    if (amsgrad) {
        lists[count++] = MAX_EXP_AVG_SQS;
    }
    if (masters) {
        lists[count++] = MASTERS;
    }
    bool alike = frame_items_alike(frame, lists, count, index);
    return (ingot_adam_tensors){
        .param = frame_item(frame, PARAMS, index, true, alike),
        .grad = frame_item(frame, GRADS, index, false, alike),
        .exp_avg = frame_item(frame, EXP_AVGS, index, true, alike),
        .exp_avg_sq = frame_item(frame, EXP_AVG_SQS, index, true, alike),
        .max_exp_avg_sq = amsgrad ? frame_item(frame, MAX_EXP_AVG_SQS, index, true, alike) : NULL,
        .master = masters ? frame_item(frame, MASTERS, index, true, alike) : NULL};
}

typedef ingot_status adam_function(ingot_ops *, ingot_stream *, const ingot_adam_desc *);

static ingot_status adam(struct frame *frame, adam_function *function) {
    ingot_adam_desc desc = {.count = frame_count(frame, PARAMS),
                            .lr = frame_float(frame, LR),
                            .beta1 = or_none(frame_float(frame, BETA1)),
                            .beta2 = or_none(frame_float(frame, BETA2)),
                            .eps = or_none(frame_float(frame, EPS)),
                            .weight_decay = frame_float(frame, WEIGHT_DECAY),
                            .step = frame_int(frame, STEP),
                            .maximize = frame_bool(frame, MAXIMIZE),
                            .amsgrad = frame_bool(frame, AMSGRAD),
                            .norm = frame_optional(frame, NORM, LAYOUT_DENSE | ELEMENTS),
                            .max_norm = frame_float(frame, MAX_NORM)};
    bool masters = frame_count(frame, MASTERS) > 0;
    check_lengths(frame, desc.amsgrad, masters);
    if (frame->status || !desc.count) {
        return frame->status;
    }
    ingot_adam_tensors *tensors = malloc(desc.count * sizeof *tensors);
    if (!tensors) {
        return frame_fail(frame, INGOT_OUT_OF_MEMORY, "no memory for %zu tensors", desc.count);
    }
    for (size_t i = 0; i < desc.count; i++) {
        tensors[i] = adam_tensors(frame, i, desc.amsgrad, masters);
    }
    desc.tensors = tensors;
    ingot_status status = FRAME_RUN(frame, function, &desc);
    free(tensors);
    return status;
}

ingot_status torch_op_adamw_(struct frame *frame) {
    return adam(frame, ingot_op_adamw);
}

ingot_status torch_op_adam_(struct frame *frame) {
    return adam(frame, ingot_op_adam);
}

ingot_status torch_op_grad_norm(struct frame *frame) {
    size_t count = frame_count(frame, 0);
    const ingot_tensor **grads = malloc((count ? count : 1) * sizeof *grads);
    if (!grads) {
        return frame_fail(frame, INGOT_OUT_OF_MEMORY, "no memory for %zu tensors", count);
    }
    for (size_t i = 0; i < count; i++) {
        grads[i] = frame_item(frame, 0, i, false, frame_items_alike(frame, (uint32_t[]){0}, 1, i));
    }
    const ingot_grad_norm_desc desc = {
        .grads = grads, .count = count, .norm = frame_output(frame, 0, INGOT_SCALAR_F32, 0, NULL)};
    ingot_status status = FRAME_RUN(frame, ingot_op_grad_norm, &desc);
    free(grads);
    return status;
}
