/* log_softmax on the host. */
#include "common/few_columns_host.h"
#include "common/softmax_backward.h"
#include "log_softmax/log_softmax_args.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS(0), IGO_ROW_KNOB_KEEP(8)};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    {.name = "log_softmax",
     IGO_ROW_OPERATION,
     .summary = "out = x - log(sum(exp(x)))",
     .variants = "type, blocks kept, row length",
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "log_softmax_backward",
     IGO_ROW_OPERATION,
     .summary = "dx = dy - exp(y) * sum(dy)",
     .variants = "type, row length",
     .knobs = knobs,
     .knob_count = IGO_ROW_KEEP},
};

const struct igo_library igo_library_log_softmax = {
    .name = "log_softmax", .operations = operations, .operation_count = 2};

ingot_status ingot_op_log_softmax(ingot_ops *ops, ingot_stream *stream,
                                  const ingot_log_softmax_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    struct log_softmax_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_log_softmax, &operations[FORWARD], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    args.x_stride = igo_matrix_begin(&call, &matrix, "x", desc->x, IGO_FLOATS, false);
    args.out_stride = igo_matrix_more(&call, &matrix, "out", desc->out, 0, true);
    igo_no_overlap(&call, "out", desc->out, "x", desc->x, true);
    if (call.failed || !matrix.rows || !matrix.columns) {
        return igo_end(&call);
    }

    args.rows = matrix.rows;
    args.columns = matrix.columns;
    args.past_caches = igo_stores_past_caches(&call, desc->out);
    igo_matrix_policy(&call, &matrix);
    struct igo_launch launch = {0};
    if (!igo_launch_few(&call, &launch, &matrix, "log_softmax", 32 * FEW_CHUNKS)) {
        igo_launch_kernel(&launch, "log_softmax_%s_k%u", igo_type_name(desc->x->type),
                          igo_matrix_keep(&call, &matrix, (const uint32_t[]){8}, 1));
        igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    }
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_log_softmax_backward(ingot_ops *ops, ingot_stream *stream,
                                           const ingot_log_softmax_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_log_softmax, &operations[BACKWARD], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    struct igo_softmax_backward backward = {.y = desc->y, .dy = desc->dy, .dx = desc->dx};
    if (igo_softmax_backward_begin(&call, &backward)) {
        const struct log_softmax_backward_args args = {
            .rows = backward.matrix.rows,
            .y_stride = backward.y_stride,
            .dy_stride = backward.dy_stride,
            .dx_stride = backward.dx_stride,
            .columns = backward.matrix.columns,
            .past_caches = igo_stores_past_caches(&call, desc->dx),
        };
        igo_softmax_backward_launch(&call, &backward, "log_softmax_backward", &args, sizeof args);
    }
    return igo_end(&call);
}
