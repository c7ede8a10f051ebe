/* The activations for PyTorch, alone and times a second input; overrides of silu and gelu. */
#include "python/torch/operators.h"
#include "python/torch/override.h"
#include "python/torch/register.h"

#include <string.h>

enum { LAYOUT = LAYOUT_ROWS | RANK_0_AS_1 };

#define ACTIVATION(name)                                                                           \
    ingot_status torch_op_##name(struct operator_call *call) {                                     \
        const ingot_tensor *x = argument_tensor(call, 0, LAYOUT);                                  \
        const ingot_activation_desc desc = {.x = x, .out = output_like(call, 0, x)};               \
        return OPERATOR_RUN(call, ingot_op_##name, &desc);                                         \
    }                                                                                              \
    ingot_status torch_op_##name##_backward(struct operator_call *call) {                          \
        const ingot_tensor *x = argument_tensor(call, 1, LAYOUT);                                  \
        const ingot_activation_backward_desc desc = {                                              \
            .x = x, .d_out = argument_tensor(call, 0, LAYOUT), .d_x = output_like(call, 0, x)};    \
        return OPERATOR_RUN(call, ingot_op_##name##_backward, &desc);                              \
    }                                                                                              \
    ingot_status torch_op_##name##_mul(struct operator_call *call) {                               \
        const ingot_tensor *gate = argument_tensor(call, 0, LAYOUT);                               \
        const ingot_activation_mul_desc desc = {.gate = gate,                                      \
                                                .up = argument_tensor(call, 1, LAYOUT),            \
                                                .out = output_like(call, 0, gate)};                \
        return OPERATOR_RUN(call, ingot_op_##name##_mul, &desc);                                   \
    }                                                                                              \
    ingot_status torch_op_##name##_mul_backward(struct operator_call *call) {                      \
        const ingot_tensor *gate = argument_tensor(call, 1, LAYOUT);                               \
        const ingot_activation_mul_backward_desc desc = {.gate = gate,                             \
                                                         .up = argument_tensor(call, 2, LAYOUT),   \
                                                         .d_out =                                  \
                                                             argument_tensor(call, 0, LAYOUT),     \
                                                         .d_gate = output_like(call, 0, gate),     \
                                                         .d_up = output_like(call, 1, gate)};      \
        return OPERATOR_RUN(call, ingot_op_##name##_mul_backward, &desc);                          \
    }

ACTIVATION(silu)
ACTIVATION(gelu)
ACTIVATION(gelu_tanh)

/* ---- overrides ---------------------------------------------------------------------------- */

typedef cpp_result unary(torch_tensor *);
typedef cpp_result binary(torch_tensor *, torch_tensor *);
typedef cpp_result unary_text(torch_tensor *, cpp_text);
typedef cpp_result binary_text(torch_tensor *, torch_tensor *, cpp_text);

void override_silu(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_silu, stack);
    torch_tensor *x = override_tensor(&call, 0, 0);
    const struct tensor_facts facts = tensor_facts_of(x);
    if (limit_allows_tensor(LIMIT_silu, &facts)) {
        override_replace(&call, torch_operator_at(OPERATOR_silu), (torch_value[]){(torch_value)x},
                         stack);
        return;
    }
    const cpp_result result = ((unary *)override_pass_on(&call))(x);
    override_return(&call, &result, 0, 1);
}

void override_silu_backward(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_silu_backward, stack);
    torch_tensor *d_out = override_tensor(&call, 0, 0), *x = override_tensor(&call, 1, 1);
    if (limit_allows_gradient(LIMIT_silu_backward, d_out, x)) {
        override_replace(&call, torch_operator_at(OPERATOR_silu_backward),
                         (torch_value[]){(torch_value)d_out, (torch_value)x}, stack);
        return;
    }
    const cpp_result result = ((binary *)override_pass_on(&call))(d_out, x);
    override_return(&call, &result, 0, 1);
}

/* gelu's approximation, which the call owns. */
static cpp_text text_of(struct override_call *call, uint32_t argument) {
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
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_gelu, stack);
    torch_tensor *x = override_tensor(&call, 0, 0);
    const cpp_text formula = text_of(&call, 1);
    const bool tanh = is_tanh(formula);
    const struct tensor_facts facts = tensor_facts_of(x);
    if ((tanh || is_none(formula)) &&
        limit_allows_tensor(tanh ? LIMIT_gelu_tanh : LIMIT_gelu, &facts)) {
        override_replace(&call, torch_operator_at(tanh ? OPERATOR_gelu_tanh : OPERATOR_gelu),
                         (torch_value[]){(torch_value)x}, stack);
        return;
    }
    const cpp_result result = ((unary_text *)override_pass_on(&call))(x, formula);
    override_return(&call, &result, 0, 1);
}

void override_gelu_backward(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_gelu_backward, stack);
    torch_tensor *d_out = override_tensor(&call, 0, 0), *x = override_tensor(&call, 1, 1);
    const cpp_text formula = text_of(&call, 2);
    const bool tanh = is_tanh(formula);
    if ((tanh || is_none(formula)) &&
        limit_allows_gradient(tanh ? LIMIT_gelu_tanh_backward : LIMIT_gelu_backward, d_out, x)) {
        override_replace(
            &call, torch_operator_at(tanh ? OPERATOR_gelu_tanh_backward : OPERATOR_gelu_backward),
            (torch_value[]){(torch_value)d_out, (torch_value)x}, stack);
        return;
    }
    const cpp_result result = ((binary_text *)override_pass_on(&call))(d_out, x, formula);
    override_return(&call, &result, 0, 1);
}
