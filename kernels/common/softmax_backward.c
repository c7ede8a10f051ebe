/* The backward of softmax and of its logarithm, on the host. */
#include "common/softmax_backward.h"

#include "common/few_columns_host.h"

enum { FEW_MOST = 48 }; /* longer rows are faster one by one, from memory */

bool igo_softmax_backward_begin(struct igo_call *call, struct igo_softmax_backward *b) {
    if (call->failed) {
        return false;
    }
    b->y_stride = igo_matrix_begin(call, &b->matrix, "y", b->y, IGO_FLOATS, false);
    b->dy_stride = igo_matrix_more(call, &b->matrix, "dy", b->dy, 0, false);
    b->dx_stride = igo_matrix_more(call, &b->matrix, "dx", b->dx, 0, true);
    const struct igo_named outputs[] = {{"dx", b->dx, false}};
    const struct igo_named inputs[] = {{"y", b->y, true}, {"dy", b->dy, true}};
    igo_apart(call, outputs, 1, inputs, 2);
    return !call->failed && b->matrix.rows && b->matrix.columns;
}

void igo_softmax_backward_launch(struct igo_call *call, struct igo_softmax_backward *b,
                                 const char *kernel, const void *args, size_t size) {
    struct igo_launch launch = {0};
    igo_matrix_policy(call, &b->matrix);
    if (!igo_launch_few(call, &launch, &b->matrix, kernel, FEW_MOST)) {
        igo_launch_kernel(&launch, "%s_%s", kernel, igo_type_name(b->y->type));
        igo_launch_rows(call, &launch, &b->matrix, b->matrix.rows);
    }
    igo_launch_tensor(&launch, b->y, NULL);
    igo_launch_tensor(&launch, b->dy, NULL);
    igo_launch_tensor(&launch, b->dx, NULL);
    igo_launch_bytes(&launch, args, size);
    igo_dispatch(call, &launch);
}
