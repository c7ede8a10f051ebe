/* Steps of Adam and AdamW over lists of tensors, and the norm of their gradients, for PyTorch. */
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

static void check_lengths(struct operator_call *call, bool amsgrad, bool masters) {
    size_t count = argument_list_length(call, PARAMS);
    for (uint32_t i = GRADS; i <= MASTERS; i++) {
        bool there = i < MAX_EXP_AVG_SQS || (i == MAX_EXP_AVG_SQS ? amsgrad : masters);
        if (there && argument_list_length(call, i) != count) {
            operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                               "%s has %zu tensors, but params has %zu",
                               call->op->arguments[i].name, argument_list_length(call, i), count);
        }
    }
}

static ingot_adam_tensors adam_tensors(struct operator_call *call, size_t index, bool amsgrad,
                                       bool masters) {
    uint32_t lists[6] = {PARAMS, GRADS, EXP_AVGS, EXP_AVG_SQS}, count = 4;
    if (amsgrad) {
        lists[count++] = MAX_EXP_AVG_SQS;
    }
    if (masters) {
        lists[count++] = MASTERS;
    }
    bool alike = argument_items_alike(call, lists, count, index);
    return (ingot_adam_tensors){
        .param = argument_list_item(call, PARAMS, index, true, alike),
        .grad = argument_list_item(call, GRADS, index, false, alike),
        .exp_avg = argument_list_item(call, EXP_AVGS, index, true, alike),
        .exp_avg_sq = argument_list_item(call, EXP_AVG_SQS, index, true, alike),
        .max_exp_avg_sq =
            amsgrad ? argument_list_item(call, MAX_EXP_AVG_SQS, index, true, alike) : NULL,
        .master = masters ? argument_list_item(call, MASTERS, index, true, alike) : NULL};
}

typedef ingot_status adam_function(ingot_ops *, ingot_stream *, const ingot_adam_desc *);

static ingot_status adam(struct operator_call *call, adam_function *function) {
    ingot_adam_desc desc = {.count = argument_list_length(call, PARAMS),
                            .lr = argument_float(call, LR),
                            .beta1 = or_none(argument_float(call, BETA1)),
                            .beta2 = or_none(argument_float(call, BETA2)),
                            .eps = or_none(argument_float(call, EPS)),
                            .weight_decay = argument_float(call, WEIGHT_DECAY),
                            .step = argument_int(call, STEP),
                            .maximize = argument_bool(call, MAXIMIZE),
                            .amsgrad = argument_bool(call, AMSGRAD),
                            .norm =
                                argument_optional_tensor(call, NORM, LAYOUT_DENSE | RANK_0_AS_1),
                            .max_norm = argument_float(call, MAX_NORM)};
    bool masters = argument_list_length(call, MASTERS) > 0;
    check_lengths(call, desc.amsgrad, masters);
    if (call->status || !desc.count) {
        return call->status;
    }
    ingot_adam_tensors *tensors = malloc(desc.count * sizeof *tensors);
    if (!tensors) {
        return operator_call_fail(call, INGOT_OUT_OF_MEMORY, "no memory for %zu tensors",
                                  desc.count);
    }
    for (size_t i = 0; i < desc.count; i++) {
        tensors[i] = adam_tensors(call, i, desc.amsgrad, masters);
    }
    desc.tensors = tensors;
    ingot_status status = OPERATOR_RUN(call, function, &desc);
    free(tensors);
    return status;
}

ingot_status torch_op_adamw_(struct operator_call *call) {
    return adam(call, ingot_op_adamw);
}

ingot_status torch_op_adam_(struct operator_call *call) {
    return adam(call, ingot_op_adam);
}

ingot_status torch_op_grad_norm(struct operator_call *call) {
    size_t count = argument_list_length(call, 0);
    const ingot_tensor **grads = malloc((count ? count : 1) * sizeof *grads);
    if (!grads) {
        return operator_call_fail(call, INGOT_OUT_OF_MEMORY, "no memory for %zu tensors", count);
    }
    for (size_t i = 0; i < count; i++) {
        grads[i] = argument_list_item(call, 0, i, false,
                                      argument_items_alike(call, (uint32_t[]){0}, 1, i));
    }
    const ingot_grad_norm_desc desc = {
        .grads = grads, .count = count, .norm = output_tensor(call, 0, INGOT_SCALAR_F32, 0, NULL)};
    ingot_status status = OPERATOR_RUN(call, ingot_op_grad_norm, &desc);
    free(grads);
    return status;
}
