/* rms_norm on the host. */
#include "rms_norm/rms_norm_args.h"
#include "rms_norm/rms_norm_backward.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS(0), IGO_ROW_KNOB_KEEP(8), IGO_ROW_KNOB_STAY};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    {.name = "rms_norm",
     IGO_ROW_OPERATION,
     .summary = "out = x / sqrt(mean(x * x) + eps) * weight",
     .variants = "type of x, type of weight, weight or none, blocks kept, row length",
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "rms_norm_backward",
     IGO_ROW_OPERATION,
     .summary = "gradients of x and weight",
     .variants = "type of x, type of weight, weight or none, row length",
     .knobs = rms_norm_backward_knobs,
     .knob_count = RMS_NORM_BACKWARD_KNOBS},
};

const struct igo_library igo_library_rms_norm = {
    .name = "rms_norm", .operations = operations, .operation_count = 2};

ingot_status ingot_op_rms_norm(ingot_ops *ops, ingot_stream *stream,
                               const ingot_rms_norm_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    igo_begin(&call, ops, stream, &igo_library_rms_norm, &operations[FORWARD], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    struct rms_norm_args args = {.save_rstd = desc->rstd != NULL};
    args.x_stride = igo_matrix_begin(&call, &matrix, "x", desc->x, IGO_FLOATS, false);
    args.out_stride = igo_matrix_more(&call, &matrix, "out", desc->out, 0, true);
    if (desc->weight) {
        igo_matrix_vector(&call, &matrix, "weight", desc->weight);
    }
    if (desc->rstd) {
        igo_matrix_column(&call, &matrix, "rstd", desc->rstd);
    }
    args.eps = igo_row_eps(&call, desc->eps, 1e-6f);
    const struct igo_named outputs[] = {{"out", desc->out, false}, {"rstd", desc->rstd, false}};
    const struct igo_named inputs[] = {{"x", desc->x, true}, {"weight", desc->weight, false}};
    igo_apart(&call, outputs, 2, inputs, 2);
    if (call.failed || !matrix.rows || !matrix.columns) {
        return igo_end(&call);
    }

    igo_matrix_policy(&call, &matrix);
    args.rows = matrix.rows;
    args.columns = matrix.columns;
    args.past_caches = igo_stores_past_caches(&call, desc->out);
    const ingot_scalar_type type = desc->x->type;
    struct igo_launch launch = {0};
    const uint32_t keep = igo_matrix_keep(&call, &matrix, (const uint32_t[]){4, 8}, 2);
    igo_matrix_fill(&call, &matrix);
    igo_launch_kernel(&launch, "rms_norm_%s_%s_k%u%s", igo_type_name(type),
                      igo_type_name(desc->weight ? desc->weight->type : type), keep,
                      igo_matrix_part(&call, &matrix));
    igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    igo_launch_constant_bool(&launch, "HAS_WEIGHT", desc->weight != NULL);
    igo_launch_constant_bool(&launch, "X_STAYS", igo_matrix_stays(&call, &matrix));
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_optional(&launch, desc->weight);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_optional(&launch, desc->rstd);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_rms_norm_backward(ingot_ops *ops, ingot_stream *stream,
                                        const ingot_rms_norm_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_rms_norm, &operations[BACKWARD], desc);
    if (!call.failed) {
        rms_norm_backward_run(&call, &(struct rms_norm_backward){.x_name = "x",
                                                                 .x = desc->x,
                                                                 .weight = desc->weight,
                                                                 .dy = desc->dy,
                                                                 .rstd = desc->rstd,
                                                                 .dx = desc->dx,
                                                                 .dweight = desc->dweight,
                                                                 .eps = desc->eps});
    }
    return igo_end(&call);
}
