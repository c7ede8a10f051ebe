/* Overrides of operators that have a CPU kernel in torch: activations, softmax and attention. */
#include "python/torch/override.h"
#include "python/torch/register.h"
#include "python/torch/types.h"

#include <string.h>

#define UNUSED (void)inputs, (void)outputs

typedef cpp_result unary(torch_tensor *);
typedef cpp_result binary(torch_tensor *, torch_tensor *);
typedef cpp_result unary_text(torch_tensor *, cpp_text);
typedef cpp_result binary_text(torch_tensor *, torch_tensor *, cpp_text);
typedef cpp_result softmax_function(torch_tensor *, int64_t dim, bool half_to_float);
typedef cpp_result softmax_gradient(torch_tensor *, torch_tensor *, int64_t dim, int8_t dtype);
typedef cpp_result attention_function(torch_tensor *, torch_tensor *, torch_tensor *, double, bool,
                                      const cpp_optional_tensor *, cpp_optional_double);

/* ---- activations ----------------------------------------------------------------------------- */

static bool fits(const struct look *x, enum limit limit) {
    return x->dense && limit_allows(limit, x->type, x->elements);
}

static bool gradient_fits(torch_tensor *d_out, torch_tensor *x, enum limit limit) {
    const struct look of_x = look_at(x);
    if (!fits(&of_x, limit)) {
        return false;
    }
    const struct look of_d_out = look_at(d_out);
    return of_d_out.type == of_x.type && of_d_out.dense && look_same_shape(&of_d_out, &of_x);
}

void override_silu(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE_silu, stack);
    torch_tensor *x = call_tensor(&call, 0, 0);
    const struct look look = look_at(x);
    if (fits(&look, LIMIT_silu)) {
        call_replace(&call, torch_operation(OPERATION_silu), (torch_value[]){(torch_value)x},
                     stack);
        return;
    }
    const cpp_result result = ((unary *)call_pass_on(&call))(x);
    call_return(&call, &result, 0, 1);
}

void override_silu_backward(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE_silu_backward, stack);
    torch_tensor *d_out = call_tensor(&call, 0, 0), *x = call_tensor(&call, 1, 1);
    if (gradient_fits(d_out, x, LIMIT_silu_backward)) {
        call_replace(&call, torch_operation(OPERATION_silu_backward),
                     (torch_value[]){(torch_value)d_out, (torch_value)x}, stack);
        return;
    }
    const cpp_result result = ((binary *)call_pass_on(&call))(d_out, x);
    call_return(&call, &result, 0, 1);
}

/* gelu's approximation, which the call owns. */
static cpp_text text_of(struct call *call, uint32_t argument) {
    cpp_text text = {0, ""};
    call->string = (torch_string *)call->stack[argument];
    torch.string_text(call->string, &text.text);
    torch.string_length(call->string, &text.length);
    return text;
}

static bool is_tanh(cpp_text text) {
    return text.length == 4 && !memcmp(text.text, "tanh", 4);
}

static bool is_none(cpp_text text) {
    return text.length == 4 && !memcmp(text.text, "none", 4);
}

void override_gelu(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE_gelu, stack);
    torch_tensor *x = call_tensor(&call, 0, 0);
    const cpp_text formula = text_of(&call, 1);
    const bool tanh = is_tanh(formula);
    const struct look look = look_at(x);
    if ((tanh || is_none(formula)) && fits(&look, tanh ? LIMIT_gelu_tanh : LIMIT_gelu)) {
        call_replace(&call, torch_operation(tanh ? OPERATION_gelu_tanh : OPERATION_gelu),
                     (torch_value[]){(torch_value)x}, stack);
        return;
    }
    const cpp_result result = ((unary_text *)call_pass_on(&call))(x, formula);
    call_return(&call, &result, 0, 1);
}

void override_gelu_backward(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE_gelu_backward, stack);
    torch_tensor *d_out = call_tensor(&call, 0, 0), *x = call_tensor(&call, 1, 1);
    const cpp_text formula = text_of(&call, 2);
    const bool tanh = is_tanh(formula);
    if ((tanh || is_none(formula)) &&
        gradient_fits(d_out, x, tanh ? LIMIT_gelu_tanh_backward : LIMIT_gelu_backward)) {
        call_replace(&call,
                     torch_operation(tanh ? OPERATION_gelu_tanh_backward : OPERATION_gelu_backward),
                     (torch_value[]){(torch_value)d_out, (torch_value)x}, stack);
        return;
    }
    const cpp_result result = ((binary_text *)call_pass_on(&call))(d_out, x, formula);
    call_return(&call, &result, 0, 1);
}

/* ---- softmax --------------------------------------------------------------------------------- */

static bool is_last(int64_t dim, const struct look *x) {
    return x->rank > 0 && (dim == -1 || dim == x->rank - 1);
}

static void softmax(struct call *call, enum limit limit, int operation) {
    torch_value *stack = call->stack;
    torch_tensor *x = call_tensor(call, 0, 0);
    const int64_t dim = (int64_t)stack[1];
    const bool half_to_float = (stack[2] & 0xff) != 0;
    const struct look look = look_at(x);
    if (!half_to_float && is_last(dim, &look) && fits(&look, limit)) {
        /* no mask, a scale of 1; log_softmax has only the first */
        const torch_value values[] = {(torch_value)x, 0, float_value(1), 0, 0};
        call_replace(call, torch_operation((size_t)operation), values, stack);
        return;
    }
    const cpp_result result = ((softmax_function *)call_pass_on(call))(x, dim, half_to_float);
    call_return(call, &result, 0, 1);
}

void override__softmax(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE__softmax, stack);
    softmax(&call, LIMIT_softmax, OPERATION_softmax);
}

void override__log_softmax(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE__log_softmax, stack);
    softmax(&call, LIMIT_log_softmax, OPERATION_log_softmax);
}

static void softmax_backward(struct call *call, enum limit limit, int operation) {
    torch_value *stack = call->stack;
    torch_tensor *d_out = call_tensor(call, 0, 0), *out = call_tensor(call, 1, 1);
    const int64_t dim = (int64_t)stack[2];
    const int32_t dtype = (int32_t)(uint32_t)stack[3];
    const struct look look = look_at(out);
    if (is_last(dim, &look) && torch_to_scalar(dtype) == look.type &&
        gradient_fits(d_out, out, limit)) {
        const torch_value values[] = {(torch_value)d_out, (torch_value)out, float_value(1)};
        call_replace(call, torch_operation((size_t)operation), values, stack);
        return;
    }
    const cpp_result result =
        ((softmax_gradient *)call_pass_on(call))(d_out, out, dim, (int8_t)dtype);
    call_return(call, &result, 0, 1);
}

void override__softmax_backward_data(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE__softmax_backward_data, stack);
    softmax_backward(&call, LIMIT_softmax_backward, OPERATION_softmax_backward);
}

void override__log_softmax_backward_data(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    UNUSED;
    CALL(call, OVERRIDE__log_softmax_backward_data, stack);
    softmax_backward(&call, LIMIT_log_softmax_backward, OPERATION_log_softmax_backward);
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { LARGEST_HEAD = 256 };

static bool attention_fits(const struct look *q, const struct look *k, const struct look *v,
                           bool causal) {
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
    const struct look look = look_at(mask);
    return look.type == INGOT_SCALAR_BOOL || look.type == INGOT_SCALAR_F32 || look.type == type;
}

/* The handle of a tensor of the same values with other strides, instead of `stack`'s. */
static void with_strides(torch_value *stack, const int64_t *strides) {
    torch_tensor *tensor = (torch_tensor *)*stack, *other = NULL;
    const struct look look = look_at(tensor);
    if (!memcmp(look.strides, strides, (size_t)look.rank * sizeof *strides)) {
        return;
    }
    torch_error error =
        torch.empty_strided(look.rank, look.shape, strides, torch_from_scalar(look.type),
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
static void strides_like(const struct look *model, int64_t strides[4]) {
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
    UNUSED;
    CALL(call, OVERRIDE__scaled_dot_product_flash_attention_for_cpu, stack);
    torch_tensor *q = call_tensor(&call, 0, 0), *k = call_tensor(&call, 1, 1),
                 *v = call_tensor(&call, 2, 2), *mask = call_optional_tensor(&call, 3, 5);
    const double dropout = value_float(stack[3]);
    const bool causal = (stack[4] & 0xff) != 0;
    const cpp_optional_double scale = call_optional_double(&call, 6);
    const struct look of_q = look_at(q), of_k = look_at(k), of_v = look_at(v);
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
        call_replace(&call, torch_operation(OPERATION_attention), values, stack);
        with_strides(&stack[0], strides);
        if (heads > 1 && queries > 1) {
            with_strides(&stack[1], (int64_t[]){heads * queries, 1, heads});
        }
        return;
    }
    const cpp_optional_tensor of_mask = call_as_optional(mask);
    const cpp_result result =
        ((attention_function *)call_pass_on(&call))(q, k, v, dropout, causal, &of_mask, scale);
    call_return(&call, &result, 0, 2);
    call_return(&call, &result, 1, 2);
}
