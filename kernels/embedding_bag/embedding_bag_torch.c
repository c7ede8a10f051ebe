/* embedding_bag for PyTorch, its gradients, and the overrides of torch's: sums and means. torch
 * raises for bags and indices that are wrong; the override looks at the bags, and where ingot's
 * operator refuses the indices, torch is to say so. */
#include "python/torch/operators.h"
#include "python/torch/override.h"
#include "python/torch/register.h"
#include "python/torch/types.h"

/* The arguments from `first` on: indices, offsets, sample_weights; mode and the rest at `mode`. */
static ingot_bags bags(struct operator_call *call, uint32_t first, uint32_t mode) {
    ingot_bags bags = {.indices = argument_tensor(call, first, LAYOUT_DENSE),
                       .offsets = argument_optional_tensor(call, first + 1, LAYOUT_DENSE),
                       .sample_weights = argument_optional_tensor(call, first + 2, LAYOUT_DENSE),
                       .include_last_offset = argument_bool(call, mode + 1)};
    bags.mode =
        (ingot_bag_mode)argument_choice(call, mode, INGOT_BAG_MAX, "0 (sum), 1 (mean) or 2 (max)");
    bags.has_padding = argument_optional_int(call, mode + 2, &bags.padding_index);
    return bags;
}

static int64_t bag_count(struct operator_call *call, const ingot_bags *bags) {
    if (!bags->offsets) {
        return tensor_extent(bags->indices, 0);
    }
    int64_t count = tensor_extent(bags->offsets, 0) - bags->include_last_offset;
    if (count < 0) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                           "offsets has 0 elements; with include_last_offset it has at least 1");
    }
    return count < 0 ? 0 : count;
}

/* On the CPU indices out of range are an error, as in torch; on a GPU the host does not look at
 * them, and such indices add nothing. */
static void check_indices(struct operator_call *call, const ingot_tensor *indices, int64_t rows) {
    int64_t first = 0, count = 1;
    const int64_t wrong = argument_count_out_of_range(call, indices, rows, NULL, &first);
    for (uint32_t i = 0; i < indices->rank && wrong; i++) {
        count *= indices->shape[i];
    }
    if (wrong) {
        operator_call_fail(
            call, INGOT_INVALID_ARGUMENT,
            "%lld of the %lld indices are not between 0 and %lld, the table's last row; the "
            "first of them is %lld",
            (long long)wrong, (long long)count, (long long)rows - 1, (long long)first);
    }
}

ingot_status torch_op_embedding_bag(struct operator_call *call) {
    const ingot_tensor *table = argument_tensor(call, 0, LAYOUT_LAST);
    ingot_embedding_bag_desc desc = {.table = table, .bags = bags(call, 1, 4)};
    const int64_t shape[] = {bag_count(call, &desc.bags), tensor_extent(table, 1)};
    check_indices(call, desc.bags.indices, tensor_extent(table, 0));
    desc.out = output_tensor(call, 0, table->type, 2, shape);
    desc.largest = desc.bags.mode == INGOT_BAG_MAX
                       ? output_tensor(call, 1, INGOT_SCALAR_I32, 2, shape)
                       : output_absent(call, 1, INGOT_SCALAR_I32);
    return OPERATOR_RUN(call, ingot_op_embedding_bag, &desc);
}

ingot_status torch_op_embedding_bag_backward(struct operator_call *call) {
    const ingot_tensor *table = argument_tensor(call, 1, LAYOUT_LAST);
    ingot_embedding_bag_backward_desc desc = {.d_out = argument_tensor(call, 0, LAYOUT_LAST),
                                              .bags = bags(call, 2, 6),
                                              .d_table = output_like(call, 0, table)};
    desc.d_sample_weights = output_like_optional(call, 1, desc.bags.sample_weights, table->type);
    desc.table = desc.d_sample_weights ? table : NULL;
    desc.largest = desc.bags.mode == INGOT_BAG_MAX ? argument_tensor(call, 5, LAYOUT_DENSE) : NULL;
    return OPERATOR_RUN(call, ingot_op_embedding_bag_backward, &desc);
}

/* ---- overrides ---------------------------------------------------------------------------- */

typedef cpp_result bag_function(torch_tensor *, torch_tensor *, torch_tensor *, bool, int64_t, bool,
                                const cpp_optional_tensor *, bool, int64_t);

struct bags { /* the arguments, and what is found out about them */
    torch_tensor *weight, *indices, *offsets, *sample_weights;
    int64_t mode, padding, count;
    bool scaled, sparse, last, wide;
    const void *starts;
};

static int64_t start_of(const struct bags *bags, int64_t index) {
    return bags->wide ? ((const int64_t *)bags->starts)[index]
                      : ((const int32_t *)bags->starts)[index];
}

/* Do the bags begin at 0, follow each other, and end where the indices do or before? */
static bool bags_fit(struct bags *bags, const struct tensor_facts *offsets, int64_t indices) {
    void *starts = NULL;
    bags->wide = offsets->type == INGOT_SCALAR_I64;
    bags->count = offsets->elements - bags->last;
    if (bags->count < 1 || torch.get_data(bags->offsets, &starts) || !starts) {
        return false;
    }
    bags->starts = starts;
    bool fit = start_of(bags, 0) == 0;
    for (int64_t i = 1; i < offsets->elements; i++) {
        fit &= start_of(bags, i) >= start_of(bags, i - 1);
    }
    const int64_t end = start_of(bags, offsets->elements - 1);
    return fit && (bags->last ? end == indices : end <= indices);
}

static bool takes(struct bags *bags) {
    if ((bags->mode != INGOT_BAG_SUM && bags->mode != INGOT_BAG_MEAN) || bags->padding >= 0) {
        return false;
    }
    const struct tensor_facts weight = tensor_facts_of(bags->weight),
                              indices = tensor_facts_of(bags->indices);
    if (weight.rank != 2 || !weight.dense || indices.rank != 1 || !indices.dense ||
        !limit_allows(bags->mode == INGOT_BAG_MEAN ? LIMIT_embedding_bag_mean : LIMIT_embedding_bag,
                      weight.type, indices.elements * weight.shape[1])) {
        return false;
    }
    const struct tensor_facts offsets = tensor_facts_of(bags->offsets);
    if ((indices.type != INGOT_SCALAR_I32 && indices.type != INGOT_SCALAR_I64) ||
        offsets.type != indices.type || offsets.rank != 1 || !offsets.dense) {
        return false;
    }
    if (bags->sample_weights) {
        const struct tensor_facts weights = tensor_facts_of(bags->sample_weights);
        if (bags->mode != INGOT_BAG_SUM || weights.type != weight.type || !weights.dense ||
            weights.elements != indices.elements) {
            return false;
        }
    }
    return bags_fit(bags, &offsets, indices.elements);
}

/* How many indices each bag has, as a tensor of the offsets' type; on failure torch throws. */
static torch_value sizes_of(const struct bags *bags, int64_t count, int64_t end) {
    torch_tensor *tensor = NULL;
    void *memory = NULL;
    const ingot_scalar_type type = bags->wide ? INGOT_SCALAR_I64 : INGOT_SCALAR_I32;
    torch_error error = torch.empty_strided(
        1, &count, (const int64_t[]){1}, torch_from_scalar(type), torch.device_cpu(), -1, &tensor);
    if (!error && count) {
        error = torch.get_data(tensor, &memory);
    }
    torch.check(!error, "embedding_bag", "ingot", 0,
                "embedding_bag: torch could not make a tensor");
    for (int64_t i = 0; i < count; i++) {
        const bool has_next = i + 1 < bags->count + bags->last;
        const int64_t size = (has_next ? start_of(bags, i + 1) : end) - start_of(bags, i);
        if (bags->wide) {
            ((int64_t *)memory)[i] = size;
        } else {
            ((int32_t *)memory)[i] = (int32_t)size;
        }
    }
    return (torch_value)tensor;
}

static bool replaced(struct override_call *call, struct bags *bags) {
    if (!takes(bags)) {
        return false;
    }
    const torch_value values[] = {(torch_value)bags->weight,
                                  (torch_value)bags->indices,
                                  (torch_value)bags->offsets,
                                  (torch_value)bags->sample_weights,
                                  (torch_value)bags->mode,
                                  bags->last,
                                  0};
    torch_value outputs[OPERATOR_OUTPUTS];
    if (!override_attempt(call, torch_operator_at(OPERATOR_embedding_bag), values, outputs)) {
        return false;
    }
    int64_t end = 0;
    torch.get_elements(bags->indices, &end);
    torch.delete_tensor((torch_tensor *)outputs[1]);
    call->stack[0] = outputs[0];
    /* torch computes the bag of each index again in the backward call where this is empty */
    call->stack[1] = sizes_of(bags, 0, end);
    call->stack[2] = sizes_of(bags, bags->count, end);
    call->stack[3] = sizes_of(bags, bags->count, end);
    return true;
}

static void embedding_bag(struct override_call *call) {
    const torch_value *stack = call->stack;
    struct bags bags = {.weight = override_tensor(call, 0, 0),
                        .indices = override_tensor(call, 1, 1),
                        .offsets = override_tensor(call, 2, 2),
                        .sample_weights = override_optional_tensor(call, 3, 6),
                        .scaled = (stack[3] & 0xff) != 0,
                        .mode = (int64_t)stack[4],
                        .sparse = (stack[5] & 0xff) != 0,
                        .last = (stack[7] & 0xff) != 0,
                        .padding = (int64_t)stack[8]};
    if (replaced(call, &bags)) {
        return;
    }
    const cpp_optional_tensor weights = override_as_optional(bags.sample_weights);
    const cpp_result result = ((bag_function *)override_pass_on(call))(
        bags.weight, bags.indices, bags.offsets, bags.scaled, bags.mode, bags.sparse, &weights,
        bags.last, bags.padding);
    for (uint32_t i = 0; i < 4; i++) {
        override_return(call, &result, i, 4);
    }
}

void override__embedding_bag(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__embedding_bag, stack);
    embedding_bag(&call);
}

void override__embedding_bag_forward_only(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__embedding_bag_forward_only, stack);
    embedding_bag(&call);
}
