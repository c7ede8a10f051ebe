/* svd and svdvals for PyTorch. */
#include "python/torch/matrix_arguments.h"
#include "python/torch/operators.h"

ingot_status torch_op_svd(struct operator_call *call) {
    int64_t m, n;
    const ingot_tensor *a = argument_matrix(call, 0, &m, &n);
    int64_t k = min_i64(m, n);
    const ingot_svd_desc desc = {.a = a,
                                 .u = output_of_batch(call, 0, a, a->type, 2, (int64_t[]){m, k}),
                                 .s = output_of_batch(call, 1, a, a->type, 1, (int64_t[]){k}),
                                 .vh = output_of_batch(call, 2, a, a->type, 2, (int64_t[]){k, n})};
    return OPERATOR_RUN(call, ingot_op_svd, &desc);
}

ingot_status torch_op_svdvals(struct operator_call *call) {
    int64_t m, n;
    const ingot_tensor *a = argument_matrix(call, 0, &m, &n);
    const ingot_svd_desc desc = {
        .a = a, .s = output_of_batch(call, 0, a, a->type, 1, (int64_t[]){min_i64(m, n)})};
    return OPERATOR_RUN(call, ingot_op_svd, &desc);
}
