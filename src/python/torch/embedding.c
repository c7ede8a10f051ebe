/* Bags of embeddings. */
#include "python/torch/operators.h"

/* The arguments from `first` on: indices, offsets, sample_weights; mode and the rest at `mode`. */
static ingot_bags bags(struct frame *frame, uint32_t first, uint32_t mode) {
    ingot_bags bags = {.indices = frame_tensor(frame, first, LAYOUT_DENSE),
                       .offsets = frame_optional(frame, first + 1, LAYOUT_DENSE),
                       .sample_weights = frame_optional(frame, first + 2, LAYOUT_DENSE),
                       .include_last_offset = frame_bool(frame, mode + 1)};
    int64_t value = frame_int(frame, mode);
    if (value < INGOT_BAG_SUM || value > INGOT_BAG_MAX) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "mode is %lld; it must be 0 (sum), 1 (mean) or 2 (max)", (long long)value);
    }
    bags.mode = (ingot_bag_mode)value;
    bags.has_padding = frame_optional_int(frame, mode + 2, &bags.padding_index);
    return bags;
}

static int64_t bag_count(struct frame *frame, const ingot_bags *bags) {
    if (!bags->offsets) {
        return frame_extent(bags->indices, 0);
    }
    int64_t count = frame_extent(bags->offsets, 0) - bags->include_last_offset;
    if (count < 0) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "offsets has 0 elements; with include_last_offset it has at least 1");
    }
    return count < 0 ? 0 : count;
}

/* On the CPU indices out of range are an error, as in torch; on a GPU the host does not look at
 * them, and such indices add nothing. */
static void check_indices(struct frame *frame, const ingot_tensor *indices, int64_t rows) {
    int64_t first = 0, count = 1;
    const int64_t wrong = frame_outside(frame, indices, rows, NULL, &first);
    for (uint32_t i = 0; i < indices->rank && wrong; i++) {
        count *= indices->shape[i];
    }
    if (wrong) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "%lld of the %lld indices are not between 0 and %lld, the table's last row; the "
                   "first of them is %lld",
                   (long long)wrong, (long long)count, (long long)rows - 1, (long long)first);
    }
}

ingot_status torch_op_embedding_bag(struct frame *frame) {
    const ingot_tensor *table = frame_tensor(frame, 0, LAYOUT_LAST);
    ingot_embedding_bag_desc desc = {.table = table, .bags = bags(frame, 1, 4)};
    const int64_t shape[] = {bag_count(frame, &desc.bags), frame_extent(table, 1)};
    check_indices(frame, desc.bags.indices, frame_extent(table, 0));
    desc.out = frame_output(frame, 0, table->type, 2, shape);
    desc.largest = desc.bags.mode == INGOT_BAG_MAX
                       ? frame_output(frame, 1, INGOT_SCALAR_I32, 2, shape)
                       : frame_absent(frame, 1, INGOT_SCALAR_I32);
    return FRAME_RUN(frame, ingot_op_embedding_bag, &desc);
}

ingot_status torch_op_embedding_bag_backward(struct frame *frame) {
    const ingot_tensor *table = frame_tensor(frame, 1, LAYOUT_LAST);
    ingot_embedding_bag_backward_desc desc = {.d_out = frame_tensor(frame, 0, LAYOUT_LAST),
                                              .bags = bags(frame, 2, 6),
                                              .d_table = frame_like(frame, 0, table)};
    desc.d_sample_weights = frame_like_optional(frame, 1, desc.bags.sample_weights, table->type);
    desc.table = desc.d_sample_weights ? table : NULL;
    desc.largest = desc.bags.mode == INGOT_BAG_MAX ? frame_tensor(frame, 5, LAYOUT_DENSE) : NULL;
    return FRAME_RUN(frame, ingot_op_embedding_bag_backward, &desc);
}
