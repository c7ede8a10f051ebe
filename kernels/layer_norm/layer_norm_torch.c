/* layer_norm for PyTorch, its gradients, and the override of torch's. */
#include "python/torch/operators.h"
#include "python/torch/override_norms.h"

ingot_status torch_op_layer_norm(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ROWS);
    const ingot_layer_norm_desc desc = {.x = x,
                                        .weight = argument_optional_tensor(call, 1, LAYOUT_DENSE),
                                        .bias = argument_optional_tensor(call, 2, LAYOUT_DENSE),
                                        .out = output_like(call, 0, x),
                                        .eps = argument_nonzero_float(call, 3)};
    return OPERATOR_RUN(call, ingot_op_layer_norm, &desc);
}

/* The bias's gradient does not depend on the bias: it comes with that of the weight. */
ingot_status torch_op_layer_norm_backward(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 1, LAYOUT_ROWS);
    const ingot_tensor *weight = argument_optional_tensor(call, 2, LAYOUT_DENSE);
    const ingot_layer_norm_backward_desc desc = {
        .x = x,
        .weight = weight,
        .dy = argument_tensor(call, 0, LAYOUT_ROWS),
        .dx = output_like(call, 0, x),
        .dweight = output_like_optional(call, 1, weight, x->type),
        .dbias = output_like_optional(call, 2, weight, x->type),
        .eps = argument_nonzero_float(call, 3)};
    return OPERATOR_RUN(call, ingot_op_layer_norm_backward, &desc);
}

typedef cpp_result layer_norm_function(torch_tensor *, cpp_ints, const cpp_optional_tensor *,
                                       const cpp_optional_tensor *, double, bool);

void override_layer_norm(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_layer_norm, stack);
    int64_t extents[NORM_LONGEST_SHAPE];
    torch_tensor *x = override_tensor(&call, 0, 0), *weight = override_optional_tensor(&call, 1, 2),
                 *bias = override_optional_tensor(&call, 2, 3);
    const double eps = value_float(stack[4]);
    const bool cudnn = (stack[5] & 0xff) != 0;
    const cpp_ints shape = norm_shape(&call, extents);
    const struct tensor_facts facts = tensor_facts_of(x);
    if (eps > 0 && norm_is_affine(&facts, shape, weight) && norm_is_affine(&facts, shape, bias)) {
        const enum override_route route =
            norm_route(&call, &facts, LIMIT_layer_norm, LIMIT_layer_norm_direct);
        if (route != ROUTE_TORCH) {
            norm_run(
                &call, route, OPERATOR_layer_norm,
                (torch_value[]){(torch_value)x, (torch_value)weight, (torch_value)bias, stack[4]});
            return;
        }
    }
    const cpp_optional_tensor of_weight = override_as_optional(weight),
                              of_bias = override_as_optional(bias);
    const cpp_result result = ((layer_norm_function *)override_pass_on(&call))(
        x, shape, &of_weight, &of_bias, eps, cudnn);
    override_return(&call, &result, 0, 1);
}
