/* fill, axpy, convert and the activations. */
#include "python/torch/operators.h"

enum { ALIGNED = LAYOUT_DENSE | ELEMENTS, STRIPES = LAYOUT_ROWS | ELEMENTS };

ingot_status torch_op_fill_(struct frame *frame) {
    const ingot_fill_desc desc = {.out = frame_written(frame, 0, ALIGNED),
                                  .value = frame_float(frame, 1)};
    return FRAME_RUN(frame, ingot_op_fill, &desc);
}

ingot_status torch_op_axpy_(struct frame *frame) {
    const ingot_axpy_desc desc = {.y = frame_written(frame, 0, ALIGNED),
                                  .x = frame_tensor(frame, 1, ALIGNED),
                                  .alpha = (float)frame_float(frame, 2)};
    return FRAME_RUN(frame, ingot_op_axpy, &desc);
}

/* y is copied to the output, and x is added there. */
ingot_status torch_op_axpy(struct frame *frame) {
    const ingot_tensor *y = frame_tensor(frame, 1, LAYOUT_ANY);
    const ingot_axpy_desc desc = {.y = frame_like(frame, 0, y),
                                  .x = frame_tensor(frame, 0, LAYOUT_DENSE),
                                  .alpha = (float)frame_float(frame, 2)};
    const ingot_convert_desc copy = {.from = y, .to = desc.y};
    ingot_status status = FRAME_RUN(frame, ingot_op_convert, &copy);
    return status ? status : FRAME_RUN(frame, ingot_op_axpy, &desc);
}

ingot_status torch_op_convert(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_ANY);
    const ingot_convert_desc desc = {
        .from = x, .to = frame_output(frame, 0, frame_dtype(frame, 1), x->rank, x->shape)};
    return FRAME_RUN(frame, ingot_op_convert, &desc);
}

#define ACTIVATION(name)                                                                           \
    ingot_status torch_op_##name(struct frame *frame) {                                            \
        const ingot_tensor *x = frame_tensor(frame, 0, STRIPES);                                   \
        const ingot_activation_desc desc = {.x = x, .out = frame_like(frame, 0, x)};               \
        return FRAME_RUN(frame, ingot_op_##name, &desc);                                           \
    }                                                                                              \
    ingot_status torch_op_##name##_backward(struct frame *frame) {                                 \
        const ingot_tensor *x = frame_tensor(frame, 1, STRIPES);                                   \
        const ingot_activation_backward_desc desc = {                                              \
            .x = x, .d_out = frame_tensor(frame, 0, STRIPES), .d_x = frame_like(frame, 0, x)};     \
        return FRAME_RUN(frame, ingot_op_##name##_backward, &desc);                                \
    }                                                                                              \
    ingot_status torch_op_##name##_mul(struct frame *frame) {                                      \
        const ingot_tensor *gate = frame_tensor(frame, 0, STRIPES);                                \
        const ingot_activation_mul_desc desc = {.gate = gate,                                      \
                                                .up = frame_tensor(frame, 1, STRIPES),             \
                                                .out = frame_like(frame, 0, gate)};                \
        return FRAME_RUN(frame, ingot_op_##name##_mul, &desc);                                     \
    }                                                                                              \
    ingot_status torch_op_##name##_mul_backward(struct frame *frame) {                             \
        const ingot_tensor *gate = frame_tensor(frame, 1, STRIPES);                                \
        const ingot_activation_mul_backward_desc desc = {.gate = gate,                             \
                                                         .up = frame_tensor(frame, 2, STRIPES),    \
                                                         .d_out = frame_tensor(frame, 0, STRIPES), \
                                                         .d_gate = frame_like(frame, 0, gate),     \
                                                         .d_up = frame_like(frame, 1, gate)};      \
        return FRAME_RUN(frame, ingot_op_##name##_mul_backward, &desc);                            \
    }

ACTIVATION(silu)
ACTIVATION(gelu)
ACTIVATION(gelu_tanh)
