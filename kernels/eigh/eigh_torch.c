/* eigh and eigvalsh for PyTorch. */
#include "python/torch/matrix_arguments.h"
#include "python/torch/operators.h"

ingot_status torch_op_eigh(struct operator_call *call) {
    const ingot_tensor *a = argument_tensor(call, 0, LAYOUT_ANY);
    const ingot_eigh_desc desc = {
        .a = a,
        .values = output_of_batch(call, 0, a, a->type, 1, (int64_t[]){tensor_extent(a, -1)}),
        .vectors = output_like(call, 1, a),
        .upper = argument_bool(call, 1)};
    return OPERATOR_RUN(call, ingot_op_eigh, &desc);
}

ingot_status torch_op_eigvalsh(struct operator_call *call) {
    const ingot_tensor *a = argument_tensor(call, 0, LAYOUT_ANY);
    const ingot_eigh_desc desc = {
        .a = a,
        .values = output_of_batch(call, 0, a, a->type, 1, (int64_t[]){tensor_extent(a, -1)}),
        .upper = argument_bool(call, 1)};
    return OPERATOR_RUN(call, ingot_op_eigh, &desc);
}
