/* add_rms_norm on the host. Its backward is rms_norm's, with the gradient of the sum added. */
#include "add_rms_norm/add_rms_norm_args.h"
#include "rms_norm/rms_norm_backward.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS(0), IGO_ROW_KNOB_KEEP(8)};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    {.name = "add_rms_norm",
     IGO_ROW_OPERATION,
     .summary = "sum = x + residual; out = rms_norm(sum)",
     .variants = "type of x, type of weight, weight or none, blocks kept, row length",
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "add_rms_norm_backward",
     IGO_ROW_OPERATION,
     .summary = "gradients of x and residual (the same) and weight",
     .variants = "type of x, type of weight, weight or none, row length",
     .knobs = rms_norm_backward_knobs,
     .knob_count = RMS_NORM_BACKWARD_KNOBS},
};

const struct igo_library igo_library_add_rms_norm = {
    .name = "add_rms_norm", .operations = operations, .operation_count = 2};

static void check(struct igo_call *call, const ingot_add_rms_norm_desc *desc,
                  struct igo_matrix *matrix, struct add_rms_norm_args *args) {
    args->x_stride = igo_matrix_begin(call, matrix, "x", desc->x, IGO_FLOATS, false);
    args->residual_stride = igo_matrix_more(call, matrix, "residual", desc->residual, 0, false);
    args->sum_stride = igo_matrix_more(call, matrix, "sum", desc->sum, 0, true);
    args->out_stride = igo_matrix_more(call, matrix, "out", desc->out, 0, true);
    if (desc->weight) {
        igo_matrix_vector(call, matrix, "weight", desc->weight);
    }
    if (desc->rstd) {
        igo_matrix_column(call, matrix, "rstd", desc->rstd);
    }
    args->eps = igo_row_eps(call, desc->eps, 1e-6f);
    const struct igo_named outputs[] = {
        {"sum", desc->sum, false}, {"out", desc->out, false}, {"rstd", desc->rstd, false}};
    const struct igo_named inputs[] = {
        {"x", desc->x, true}, {"residual", desc->residual, true}, {"weight", desc->weight, false}};
    igo_apart(call, outputs, 3, inputs, 3);
    args->rows = matrix->rows;
    args->columns = matrix->columns;
    args->save_rstd = desc->rstd != NULL;
}

ingot_status ingot_op_add_rms_norm(ingot_ops *ops, ingot_stream *stream,
                                   const ingot_add_rms_norm_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    struct add_rms_norm_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_add_rms_norm, &operations[FORWARD], desc);
    if (!call.failed) {
        check(&call, desc, &matrix, &args);
    }
    if (call.failed || !matrix.rows || !matrix.columns) {
        return igo_end(&call);
    }

    igo_matrix_policy(&call, &matrix);
    args.past_caches = igo_stores_past_caches(&call, desc->out);
    const ingot_scalar_type type = desc->x->type;
    struct igo_launch launch = {0};
    const uint32_t keep = igo_matrix_keep(&call, &matrix, (const uint32_t[]){4, 8}, 2);
    igo_launch_kernel(&launch, "add_rms_norm_%s_%s_k%u%s", igo_type_name(type),
                      igo_type_name(desc->weight ? desc->weight->type : type), keep,
                      igo_matrix_part(&call, &matrix));
    igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    igo_launch_constant_bool(&launch, "HAS_WEIGHT", desc->weight != NULL);
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->residual, NULL);
    igo_launch_optional(&launch, desc->weight);
    igo_launch_tensor(&launch, desc->sum, NULL);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_optional(&launch, desc->rstd);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_add_rms_norm_backward(ingot_ops *ops, ingot_stream *stream,
                                            const ingot_add_rms_norm_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_add_rms_norm, &operations[BACKWARD], desc);
    if (!call.failed) {
        rms_norm_backward_run(&call, &(struct rms_norm_backward){.x_name = "sum",
                                                                 .x = desc->sum,
                                                                 .weight = desc->weight,
                                                                 .dy = desc->dy,
                                                                 .rstd = desc->rstd,
                                                                 .add = desc->dsum,
                                                                 .add_name = "dsum",
                                                                 .dx = desc->dx,
                                                                 .dweight = desc->dweight,
                                                                 .eps = desc->eps});
    }
    return igo_end(&call);
}
