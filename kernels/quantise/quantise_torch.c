/* Quantisation for PyTorch, and products of many rows with quantised weights. */
#include "quantise/quantise_torch.h"
#include "python/torch/operators.h"

/* packed is uint8; scales and biases have x's type. */
ingot_status torch_op_quantise(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_DENSE);
    uint32_t bits = argument_u32(call, 1), group = argument_u32(call, 2);
    if ((bits != 4 && bits != 8) || group == 0) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                           "bits is %u and group %u; bits must be 4 or 8, group 32, 64 or 128",
                           bits, group);
    }
    if (call->status) {
        return call->status;
    }
    const int64_t rows = tensor_extent(x, 0), columns = tensor_extent(x, 1);
    const int64_t packed[] = {rows, columns * bits / 8}, scales[] = {rows, columns / group};
    const ingot_quantise_desc desc = {
        .x = x,
        .out = {.packed = output_tensor(call, 0, INGOT_SCALAR_U8, 2, packed),
                .scales = output_tensor(call, 1, x->type, 2, scales),
                .biases = argument_bool(call, 3) ? output_tensor(call, 2, x->type, 2, scales)
                                                 : output_absent(call, 2, x->type),
                .bits = bits,
                .group = group}};
    return OPERATOR_RUN(call, ingot_op_quantise, &desc);
}

ingot_status torch_op_dequantise(struct operator_call *call) {
    ingot_dequantise_desc desc = {.x = quantised_weights(call, 0)};
    const int64_t shape[] = {tensor_extent(desc.x.scales, 0),
                             tensor_extent(desc.x.scales, 1) * desc.x.group};
    desc.out = output_tensor(call, 0, argument_dtype(call, 5), 2, shape);
    return OPERATOR_RUN(call, ingot_op_dequantise, &desc);
}

ingot_status torch_op_quantised_matmul(struct operator_call *call) {
    const ingot_tensor *x = argument_tensor(call, 0, LAYOUT_ROWS);
    ingot_quantised_matmul_desc desc = {
        .x = x,
        .weights = quantised_weights(call, 1),
        .bias = argument_optional_tensor(call, 6, LAYOUT_DENSE),
        .epilogue = (ingot_epilogue)argument_choice(call, 7, INGOT_EPILOGUE_GELU_TANH, "0 to 4")};
    desc.out = output_with_last(call, 0, x, tensor_extent(desc.weights.scales, 0));
    return OPERATOR_RUN(call, ingot_op_quantised_matmul, &desc);
}
