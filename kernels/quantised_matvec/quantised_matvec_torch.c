/* Products of few rows with quantised weights, for PyTorch. */
#include "python/torch/operators.h"
#include "quantise/quantise_torch.h"

ingot_status torch_op_quantised_matvec(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_DENSE);
    ingot_quantised_matvec_desc desc = {.x = x,
                                        .weights = quantised_weights(call, 1),
                                        .bias = argument_optional_tensor(call, 6, LAYOUT_DENSE)};
    desc.out = output_with_last(call, 0, x, tensor_extent(desc.weights.scales, 0));
    return OPERATOR_RUN(call, ingot_op_quantised_matvec, &desc);
}
