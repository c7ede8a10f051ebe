/* Overrides of functions over rows whose kernels in torch take the dimension: softmax and its like.
 */
#include "python/torch/override_rows.h"
#include "python/torch/register.h"
#include "python/torch/types.h"

typedef cpp_result row_function(torch_tensor *, int64_t dim, bool half_to_float);
typedef cpp_result row_gradient(torch_tensor *, torch_tensor *, int64_t dim, int8_t dtype);

static bool is_last(int64_t dim, const struct tensor_facts *x) {
    return x->rank > 0 && (dim == -1 || dim == x->rank - 1);
}

void override_row_function(struct override_call *call, enum limit limit, size_t op) {
    torch_value *stack = call->stack;
    torch_tensor *x = override_tensor(call, 0, 0);
    const int64_t dim = (int64_t)stack[1];
    const bool half_to_float = (stack[2] & 0xff) != 0;
    const struct tensor_facts facts = tensor_facts_of(x);
    if (!half_to_float && is_last(dim, &facts) && limit_allows_tensor(limit, &facts)) {
        const torch_value values[] = {(torch_value)x, 0, float_value(1), 0, 0};
        override_replace(call, torch_operator_at(op), values, stack);
        return;
    }
    const cpp_result result = ((row_function *)override_pass_on(call))(x, dim, half_to_float);
    override_return(call, &result, 0, 1);
}

void override_row_gradient(struct override_call *call, enum limit limit, size_t op) {
    torch_value *stack = call->stack;
    torch_tensor *d_out = override_tensor(call, 0, 0), *out = override_tensor(call, 1, 1);
    const int64_t dim = (int64_t)stack[2];
    const int32_t dtype = (int32_t)(uint32_t)stack[3];
    const struct tensor_facts facts = tensor_facts_of(out);
    if (is_last(dim, &facts) && torch_to_scalar(dtype) == facts.type &&
        limit_allows_gradient(limit, d_out, out)) {
        const torch_value values[] = {(torch_value)d_out, (torch_value)out, float_value(1)};
        override_replace(call, torch_operator_at(op), values, stack);
        return;
    }
    const cpp_result result =
        ((row_gradient *)override_pass_on(call))(d_out, out, dim, (int8_t)dtype);
    override_return(call, &result, 0, 1);
}
