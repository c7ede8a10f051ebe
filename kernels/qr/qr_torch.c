/* qr for PyTorch. */
#include "python/torch/matrix_arguments.h"
#include "python/torch/operators.h"

ingot_status torch_op_qr(struct operator_call *call) {
    int64_t m, n;
    const ingot_tensor *a = argument_matrix(call, 0, &m, &n);
    bool complete = argument_bool(call, 1);
    int64_t k = complete ? m : min_i64(m, n);
    const ingot_qr_desc desc = {.a = a,
                                .q = output_of_batch(call, 0, a, a->type, 2, (int64_t[]){m, k}),
                                .r = output_of_batch(call, 1, a, a->type, 2, (int64_t[]){k, n}),
                                .complete = complete};
    return OPERATOR_RUN(call, ingot_op_qr, &desc);
}
