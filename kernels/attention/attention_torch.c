/* attention for PyTorch, and the override of torch's kernel for scaled_dot_product_attention. */
#include "python/torch/operators.h"
#include "python/torch/override.h"
#include "python/torch/register.h"
#include "python/torch/types.h"

#include <string.h>

ingot_status torch_op_attention(struct operator_call *call) {
    const ingot_tensor *q = argument_tensor(call, 0, LAYOUT_LAST);
    const ingot_tensor *v = argument_tensor(call, 2, LAYOUT_LAST);
    const int64_t rows[] = {tensor_extent(q, 0), tensor_extent(q, 1), tensor_extent(q, 2)};
    const ingot_attention_desc desc = {.q = q,
                                       .k = argument_tensor(call, 1, LAYOUT_LAST),
                                       .v = v,
                                       .mask = argument_optional_tensor(call, 3, LAYOUT_LAST),
                                       .slopes =
                                           argument_optional_tensor(call, 4, LAYOUT_DENSE | AS_F32),
                                       .out = output_with_last(call, 0, q, tensor_extent(v, -1)),
                                       .lse = output_tensor(call, 1, INGOT_SCALAR_F32, 3, rows),
                                       .scale = (float)argument_float(call, 5),
                                       .causal = argument_bool(call, 6),
                                       .window = argument_u32(call, 7)};
    return OPERATOR_RUN(call, ingot_op_attention, &desc);
}

/* ---- the override ---------------------------------------------------------------------------- */

typedef cpp_result attention_function(torch_tensor *, torch_tensor *, torch_tensor *, double, bool,
                                      const cpp_optional_tensor *, cpp_optional_double);

enum { LARGEST_HEAD = 256 };

static bool attention_fits(const struct tensor_facts *q, const struct tensor_facts *k,
                           const struct tensor_facts *v, bool causal) {
    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->type != k->type || q->type != v->type) {
        return false;
    }
    const int64_t queries = q->shape[2], keys = k->shape[2], width = q->shape[3];
    /* torch's causal mask starts at the first key, ingot's ends at the last */
    if ((causal && queries != keys) || memcmp(v->shape, k->shape, 3 * sizeof *k->shape)) {
        return false;
    }
    if (k->shape[0] != q->shape[0] || k->shape[3] != width || v->shape[3] != width ||
        !k->shape[1] || q->shape[1] % k->shape[1] || width <= 0 || width > LARGEST_HEAD) {
        return false;
    }
    if (q->strides[3] != 1 || k->strides[3] != 1 || v->strides[3] != 1) {
        return false;
    }
    return limit_allows(queries == 1 ? LIMIT_attention_decode : LIMIT_attention, q->type,
                        q->shape[0] * q->shape[1] * queries * keys);
}

static bool mask_fits(torch_tensor *mask, ingot_scalar_type type) {
    if (!mask) {
        return true;
    }
    const struct tensor_facts facts = tensor_facts_of(mask);
    return facts.type == INGOT_SCALAR_BOOL || facts.type == INGOT_SCALAR_F32 || facts.type == type;
}

/* The handle of a tensor of the same values with other strides, instead of `stack`'s. */
static void with_strides(torch_value *stack, const int64_t *strides) {
    torch_tensor *tensor = (torch_tensor *)*stack, *other = NULL;
    const struct tensor_facts facts = tensor_facts_of(tensor);
    if (!memcmp(facts.strides, strides, (size_t)facts.rank * sizeof *strides)) {
        return;
    }
    torch_error error =
        torch.empty_strided(facts.rank, facts.shape, strides, torch_from_scalar(facts.type),
                            torch.device_cpu(), -1, &other) ||
        torch.copy(other, tensor, 0);
    torch.delete_tensor(tensor);
    *stack = (torch_value)other;
    if (error && other) {
        torch.delete_tensor(other);
    }
    torch.check(!error, "attention", "ingot", 0, "attention: torch could not copy the result");
}

/* The strides of torch.empty_like: dimensions in the order of the model's memory, without gaps. */
static void strides_like(const struct tensor_facts *model, int64_t strides[4]) {
    int order[4] = {3, 2, 1, 0};
    for (int i = 1; i < 4; i++) {
        for (int j = i; j > 0; j--) {
            const int inner = order[j - 1], outer = order[j];
            const int64_t of_inner = model->strides[inner], of_outer = model->strides[outer];
            if (of_inner == 0 || of_outer == 0) {
                continue;
            }
            if (of_inner < of_outer ||
                (of_inner == of_outer && model->shape[inner] <= model->shape[outer])) {
                break;
            }
            order[j - 1] = outer;
            order[j] = inner;
        }
    }
    int64_t stride = 1;
    bool as_model = true;
    for (int i = 0; i < 4; i++) {
        strides[order[i]] = stride;
        as_model &= model->shape[order[i]] == 1 || model->strides[order[i]] == stride;
        stride *= model->shape[order[i]] > 1 ? model->shape[order[i]] : 1;
    }
    if (as_model) {
        memcpy(strides, model->strides, 4 * sizeof *strides);
    }
}

void override__scaled_dot_product_flash_attention_for_cpu(torch_value *stack, uint64_t inputs,
                                                          uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE__scaled_dot_product_flash_attention_for_cpu, stack);
    torch_tensor *q = override_tensor(&call, 0, 0), *k = override_tensor(&call, 1, 1),
                 *v = override_tensor(&call, 2, 2), *mask = override_optional_tensor(&call, 3, 5);
    const double dropout = value_float(stack[3]);
    const bool causal = (stack[4] & 0xff) != 0;
    const cpp_optional_double scale = override_optional_double(&call, 6);
    const struct tensor_facts of_q = tensor_facts_of(q), of_k = tensor_facts_of(k),
                              of_v = tensor_facts_of(v);
    if (dropout == 0 && (!scale.present || scale.value != 0) &&
        attention_fits(&of_q, &of_k, &of_v, causal) && mask_fits(mask, of_q.type)) {
        int64_t strides[4];
        strides_like(&of_q, strides);
        const int64_t heads = of_q.shape[1], queries = of_q.shape[2];
        const torch_value values[] = {(torch_value)q,
                                      (torch_value)k,
                                      (torch_value)v,
                                      (torch_value)mask,
                                      0,
                                      float_value(scale.value),
                                      causal,
                                      0};
        override_replace(&call, torch_operator_at(OPERATOR_attention), values, stack);
        with_strides(&stack[0], strides);
        if (heads > 1 && queries > 1) {
            with_strides(&stack[1], (int64_t[]){heads * queries, 1, heads});
        }
        return;
    }
    const cpp_optional_tensor of_mask = override_as_optional(mask);
    const cpp_result result =
        ((attention_function *)override_pass_on(&call))(q, k, v, dropout, causal, &of_mask, scale);
    override_return(&call, &result, 0, 2);
    override_return(&call, &result, 1, 2);
}
