/* log_softmax on the host. */
#include "log_softmax/log_softmax_args.h"
#include "ops/rows.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS, IGO_ROW_KNOB_KEEP(8)};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    {.name = "log_softmax",
     .family = "rows",
     .summary = "out = x - log(sum(exp(x)))",
     .limits = "dense rows, one stride apart",
     .variants = "type, blocks kept, row length",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "log_softmax_backward",
     .family = "rows",
     .summary = "dx = dy - exp(y) * sum(dy)",
     .limits = "dense rows, one stride apart",
     .variants = "type, row length",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = IGO_ROW_KEEP},
};

const struct igo_library igo_library_log_softmax = {"log_softmax", operations, 2};

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
    igo_launch_kernel(&launch, "log_softmax_%s_k%u", igo_type_name(desc->x->type),
                      igo_matrix_keep(&call, &matrix, (const uint32_t[]){8}, 1));
    igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_log_softmax_backward(ingot_ops *ops, ingot_stream *stream,
                                           const ingot_log_softmax_backward_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    struct log_softmax_backward_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_log_softmax, &operations[BACKWARD], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    args.y_stride = igo_matrix_begin(&call, &matrix, "y", desc->y, IGO_FLOATS, false);
    args.dy_stride = igo_matrix_more(&call, &matrix, "dy", desc->dy, 0, false);
    args.dx_stride = igo_matrix_more(&call, &matrix, "dx", desc->dx, 0, true);
    const struct igo_named outputs[] = {{"dx", desc->dx, false}};
    const struct igo_named inputs[] = {{"y", desc->y, true}, {"dy", desc->dy, true}};
    igo_apart(&call, outputs, 1, inputs, 2);
    if (call.failed || !matrix.rows || !matrix.columns) {
        return igo_end(&call);
    }

    args.rows = matrix.rows;
    args.columns = matrix.columns;
    args.past_caches = igo_stores_past_caches(&call, desc->dx);
    igo_matrix_policy(&call, &matrix);
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "log_softmax_backward_%s", igo_type_name(desc->y->type));
    igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    igo_launch_tensor(&launch, desc->y, NULL);
    igo_launch_tensor(&launch, desc->dy, NULL);
    igo_launch_tensor(&launch, desc->dx, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}
