/*
 * Overrides of embedding_bag: sums and means. torch raises for bags and indices that are wrong;
 * bags are looked at here, and where ingot's operator refuses the indices, torch is to say so.
 */
#include "python/torch/override.h"
#include "python/torch/register.h"
#include "python/torch/types.h"

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
static bool bags_fit(struct bags *bags, const struct look *offsets, int64_t indices) {
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
    const struct look weight = look_at(bags->weight), indices = look_at(bags->indices);
    if (weight.rank != 2 || !weight.dense || indices.rank != 1 || !indices.dense ||
        !limit_allows(bags->mode == INGOT_BAG_MEAN ? LIMIT_embedding_bag_mean : LIMIT_embedding_bag,
                      weight.type, indices.elements * weight.shape[1])) {
        return false;
    }
    const struct look offsets = look_at(bags->offsets);
    if ((indices.type != INGOT_SCALAR_I32 && indices.type != INGOT_SCALAR_I64) ||
        offsets.type != indices.type || offsets.rank != 1 || !offsets.dense) {
        return false;
    }
    if (bags->sample_weights) {
        const struct look weights = look_at(bags->sample_weights);
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

static bool replaced(struct call *call, struct bags *bags) {
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
    torch_value outputs[FRAME_OUTPUTS];
    if (!call_attempt(call, torch_operation(OPERATION_embedding_bag), values, outputs)) {
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

static void embedding_bag(struct call *call) {
    const torch_value *stack = call->stack;
    struct bags bags = {.weight = call_tensor(call, 0, 0),
                        .indices = call_tensor(call, 1, 1),
                        .offsets = call_tensor(call, 2, 2),
                        .sample_weights = call_optional_tensor(call, 3, 6),
                        .scaled = (stack[3] & 0xff) != 0,
                        .mode = (int64_t)stack[4],
                        .sparse = (stack[5] & 0xff) != 0,
                        .last = (stack[7] & 0xff) != 0,
                        .padding = (int64_t)stack[8]};
    if (replaced(call, &bags)) {
        return;
    }
    const cpp_optional_tensor weights = call_as_optional(bags.sample_weights);
    const cpp_result result = ((bag_function *)call_pass_on(call))(
        bags.weight, bags.indices, bags.offsets, bags.scaled, bags.mode, bags.sparse, &weights,
        bags.last, bags.padding);
    for (uint32_t i = 0; i < 4; i++) {
        call_return(call, &result, i, 4);
    }
}

void override__embedding_bag(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    CALL(call, OVERRIDE__embedding_bag, stack);
    embedding_bag(&call);
}

void override__embedding_bag_forward_only(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    CALL(call, OVERRIDE__embedding_bag_forward_only, stack);
    embedding_bag(&call);
}
