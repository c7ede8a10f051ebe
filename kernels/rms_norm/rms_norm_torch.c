/* rms_norm for PyTorch, its gradients, and the override of torch's. */
#include "python/torch/operators.h"
#include "python/torch/override_norms.h"

ingot_status torch_op_rms_norm(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ROWS);
    const ingot_rms_norm_desc desc = {.x = x,
                                      .weight = argument_optional_tensor(call, 1, LAYOUT_DENSE),
                                      .out = output_like(call, 0, x),
                                      .eps = argument_nonzero_float(call, 2)};
    return OPERATOR_RUN(call, ingot_op_rms_norm, &desc);
}

ingot_status torch_op_rms_norm_backward(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 1, LAYOUT_ROWS);
    const ingot_tensor *weight = argument_optional_tensor(call, 2, LAYOUT_DENSE);
    const ingot_rms_norm_backward_desc desc = {.x = x,
                                               .weight = weight,
                                               .dy = argument_tensor(call, 0, LAYOUT_ROWS),
                                               .dx = output_like(call, 0, x),
                                               .dweight =
                                                   output_like_optional(call, 1, weight, x->type),
                                               .eps = argument_nonzero_float(call, 3)};
    return OPERATOR_RUN(call, ingot_op_rms_norm_backward, &desc);
}

typedef cpp_result rms_norm_function(torch_tensor *, cpp_ints, const cpp_optional_tensor *,
                                     cpp_optional_double);

void override_rms_norm(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    OVERRIDE_CALL(call, OVERRIDE_rms_norm, stack);
    int64_t extents[NORM_LONGEST_SHAPE];
    torch_tensor *x = override_tensor(&call, 0, 0), *weight = override_optional_tensor(&call, 1, 2);
    const cpp_optional_double eps = override_optional_double(&call, 3);
    /* torch computes half types in float32, and takes that type's epsilon */
    const double epsilon = eps.present ? eps.value : 0x1p-23;
    const cpp_ints shape = norm_shape(&call, extents);
    const struct tensor_facts facts = tensor_facts_of(x);
    if (epsilon > 0 && norm_is_affine(&facts, shape, weight)) {
        const enum override_route route =
            norm_route(&call, &facts, LIMIT_rms_norm, LIMIT_rms_norm_direct);
        if (route != ROUTE_TORCH) {
            norm_run(&call, route, OPERATOR_rms_norm,
                     (torch_value[]){(torch_value)x, (torch_value)weight, float_value(epsilon)});
            return;
        }
    }
    const cpp_optional_tensor of_weight = override_as_optional(weight);
    const cpp_result result =
        ((rms_norm_function *)override_pass_on(&call))(x, shape, &of_weight, eps);
    override_return(&call, &result, 0, 1);
}
