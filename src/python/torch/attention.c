/* Attention, its gradients, the paged cache, and rotary positions. */
#include <stdlib.h>

#include "python/torch/operators.h"

/* [B, Hq, S, Dv]: q's shape with the values' width. */
static const ingot_tensor *attention_output(struct frame *frame, const ingot_tensor *q,
                                            const ingot_tensor *v) {
    const int64_t shape[] = {frame_extent(q, 0), frame_extent(q, 1), frame_extent(q, 2),
                             frame_extent(v, -1)};
    return frame_output(frame, 0, q->type, 4, shape);
}

ingot_status torch_op_attention(struct frame *frame) {
    const ingot_tensor *q = frame_tensor(frame, 0, LAYOUT_LAST);
    const ingot_tensor *v = frame_tensor(frame, 2, LAYOUT_LAST);
    const int64_t rows[] = {frame_extent(q, 0), frame_extent(q, 1), frame_extent(q, 2)};
    const ingot_attention_desc desc = {.q = q,
                                       .k = frame_tensor(frame, 1, LAYOUT_LAST),
                                       .v = v,
                                       .mask = frame_optional(frame, 3, LAYOUT_LAST),
                                       .slopes = frame_optional(frame, 4, LAYOUT_DENSE | AS_F32),
                                       .out = attention_output(frame, q, v),
                                       .lse = frame_output(frame, 1, INGOT_SCALAR_F32, 3, rows),
                                       .scale = (float)frame_float(frame, 5),
                                       .causal = frame_bool(frame, 6),
                                       .window = frame_u32(frame, 7)};
    return FRAME_RUN(frame, ingot_op_attention, &desc);
}

ingot_status torch_op_attention_backward(struct frame *frame) {
    const ingot_tensor *q = frame_tensor(frame, 1, LAYOUT_LAST);
    const ingot_tensor *k = frame_tensor(frame, 2, LAYOUT_LAST);
    const ingot_tensor *v = frame_tensor(frame, 3, LAYOUT_LAST);
    const ingot_attention_backward_desc desc = {.q = q,
                                                .k = k,
                                                .v = v,
                                                .dout = frame_tensor(frame, 0, LAYOUT_LAST),
                                                .out = frame_tensor(frame, 4, LAYOUT_LAST),
                                                .lse = frame_tensor(frame, 5, LAYOUT_DENSE),
                                                .mask = frame_optional(frame, 6, LAYOUT_LAST),
                                                .slopes =
                                                    frame_optional(frame, 7, LAYOUT_DENSE | AS_F32),
                                                .dq = frame_like(frame, 0, q),
                                                .dk = frame_like(frame, 1, k),
                                                .dv = frame_like(frame, 2, v),
                                                .scale = (float)frame_float(frame, 8),
                                                .causal = frame_bool(frame, 9),
                                                .window = frame_u32(frame, 10)};
    return FRAME_RUN(frame, ingot_op_attention_backward, &desc);
}

ingot_status torch_op_attention_paged(struct frame *frame) {
    const ingot_tensor *q = frame_tensor(frame, 0, LAYOUT_LAST);
    const ingot_tensor *values = frame_tensor(frame, 2, LAYOUT_DENSE);
    const ingot_attention_paged_desc desc = {
        .q = q,
        .key_cache = frame_tensor(frame, 1, LAYOUT_DENSE),
        .value_cache = values,
        .block_table = frame_tensor(frame, 3, LAYOUT_DENSE | AS_I32),
        .lengths = frame_tensor(frame, 4, LAYOUT_DENSE | AS_I32),
        .slopes = frame_optional(frame, 5, LAYOUT_DENSE | AS_F32),
        .out = attention_output(frame, q, values),
        .scale = (float)frame_float(frame, 6),
        .window = frame_u32(frame, 7),
        .max_length = frame_u32(frame, 8)};
    return FRAME_RUN(frame, ingot_op_attention_paged, &desc);
}

ingot_status torch_op_cache_write_(struct frame *frame) {
    const ingot_cache_write_desc desc = {.key = frame_tensor(frame, 0, LAYOUT_LAST),
                                         .value = frame_tensor(frame, 1, LAYOUT_LAST),
                                         .slots = frame_tensor(frame, 2, LAYOUT_DENSE),
                                         .key_cache = frame_written(frame, 3, LAYOUT_DENSE),
                                         .value_cache = frame_written(frame, 4, LAYOUT_DENSE)};
    return FRAME_RUN(frame, ingot_op_cache_write, &desc);
}

/* pairs is [count, 2]: from which block to which. The numbers are read by the host. */
ingot_status torch_op_cache_copy_(struct frame *frame) {
    ingot_cache_copy_desc desc = {.key_cache = frame_written(frame, 0, LAYOUT_DENSE),
                                  .value_cache = frame_written(frame, 1, LAYOUT_DENSE)};
    const void *numbers = NULL;
    const ingot_tensor *pairs = frame_host(frame, 2, &numbers);
    if (!frame->status &&
        (pairs->rank != 2 || pairs->shape[1] != 2 || pairs->type != INGOT_SCALAR_I64)) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "pairs has %u dimensions, the last of extent %lld; it must be int64 [count, 2]",
                   pairs->rank, (long long)frame_extent(pairs, -1));
    }
    desc.pairs = numbers;
    desc.pair_count = frame->status ? 0 : (size_t)pairs->shape[0];
    return FRAME_RUN(frame, ingot_op_cache_copy, &desc);
}

static ingot_rope_desc rope(struct frame *frame) {
    const ingot_tensor *x = frame_tensor(frame, 0, LAYOUT_LAST);
    return (ingot_rope_desc){.x = x,
                             .out = frame_like(frame, 0, x),
                             .positions = frame_optional(frame, 1, LAYOUT_DENSE),
                             .cos = frame_optional(frame, 2, LAYOUT_LAST),
                             .sin = frame_optional(frame, 3, LAYOUT_LAST),
                             .offset = frame_int(frame, 4),
                             .dims = frame_int(frame, 5),
                             .interleaved = frame_bool(frame, 6),
                             .base = frame_float(frame, 7),
                             .scale = frame_nonzero(frame, 8)};
}

ingot_status torch_op_rope(struct frame *frame) {
    const ingot_rope_desc desc = rope(frame);
    return FRAME_RUN(frame, ingot_op_rope, &desc);
}

ingot_status torch_op_rope_backward(struct frame *frame) {
    const ingot_rope_desc desc = rope(frame);
    return FRAME_RUN(frame, ingot_op_rope_backward, &desc);
}
