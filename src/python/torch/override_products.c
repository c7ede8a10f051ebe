/*
 * Overrides of products of few rows with a large matrix, as in decoding: mm, and linear where there
 * is no gradient to ask for. (With one, torch's composition comes to mm.)
 */
#include "python/python.h"

#include "python/torch/override_way.h"
#include "python/torch/register.h"

typedef cpp_result mm_function(torch_tensor *, torch_tensor *);
typedef cpp_result linear_function(torch_tensor *, torch_tensor *, const cpp_optional_tensor *);

/* x [..., k] by rows, weight [n, k] or [k, n]: are there as many rows and elements as ingot takes?
 */
static bool sizes_fit(const struct look *x, const struct look *weight, int64_t k) {
    return x->type == weight->type && x->dense && x->rank >= 2 && weight->rank == 2 && k > 0 &&
           x->shape[x->rank - 1] == k &&
           limit_allows(LIMIT_linear, weight->type, weight->elements) &&
           limit_allows(LIMIT_linear_rows, x->type, x->elements / k);
}

void override_mm(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    CALL(call, OVERRIDE_mm, stack);
    torch_tensor *a = call_tensor(&call, 0, 0), *b = call_tensor(&call, 1, 1);
    const struct look of_a = look_at(a), of_b = look_at(b);
    const bool by_columns = of_b.rank == 2 && of_b.strides[0] == 1 &&
                            (of_b.shape[1] == 1 || of_b.strides[1] == of_b.shape[0]);
    if (of_a.rank == 2 && (of_b.dense || by_columns) &&
        sizes_fit(&of_a, &of_b, of_b.rank ? of_b.shape[0] : 0)) {
        const torch_value values[] = {(torch_value)a, (torch_value)b, 0, 0, 0, 0};
        call_replace(&call, torch_operation(OPERATION_matmul), values, stack);
        return;
    }
    const cpp_result result = ((mm_function *)call_pass_on(&call))(a, b);
    call_return(&call, &result, 0, 1);
}

static bool linear_fits(torch_tensor *x, torch_tensor *weight, torch_tensor *bias) {
    const struct look of_x = look_at(x), of_weight = look_at(weight);
    if (!of_weight.dense ||
        !sizes_fit(&of_x, &of_weight, of_weight.rank == 2 ? of_weight.shape[1] : 0)) {
        return false;
    }
    if (!bias) {
        return true;
    }
    const struct look of_bias = look_at(bias);
    return of_bias.type == of_x.type && of_bias.rank == 1 && of_bias.dense &&
           of_bias.shape[0] == of_weight.shape[0];
}

void override_linear(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    CALL(call, OVERRIDE_linear, stack);
    torch_tensor *x = call_tensor(&call, 0, 0), *weight = call_tensor(&call, 1, 1),
                 *bias = call_optional_tensor(&call, 2, 2);
    if (linear_fits(x, weight, bias) && call_may_go_direct(&call) &&
        call_way(&call, true) == WAY_DIRECT) {
        const torch_value values[] = {
            (torch_value)x, (torch_value)weight, (torch_value)bias, 0, 1, 0};
        call_replace(&call, torch_operation(OPERATION_matmul), values, stack);
        return;
    }
    const cpp_optional_tensor of_bias = call_as_optional(bias);
    const cpp_result result = ((linear_function *)call_pass_on(&call))(x, weight, &of_bias);
    call_return(&call, &result, 0, 1);
}
