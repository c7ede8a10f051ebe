/* layer_norm on the host: the forward in one launch; of the backward, dx and the sums of the parts
 * in one, dweight and dbias in one each. */
#include "common/row_parts.h"
#include "layer_norm/layer_norm_args.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS(0), IGO_ROW_KNOB_KEEP(8), IGO_ROW_KNOB_STAY};
static const ingot_ops_knob backward_knobs[] = {IGO_ROW_KNOBS(1), IGO_ROW_KNOB_PARTS};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    {.name = "layer_norm",
     IGO_ROW_OPERATION,
     .summary = "out = (x - mean) / sqrt(variance + eps) * weight + bias",
     .variants = "type of x, type of weight, weight or none, blocks kept, row length",
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "layer_norm_backward",
     IGO_ROW_OPERATION,
     .summary = "gradients of x, weight and bias",
     .variants = "type of x, type of weight, weight or none, row length",
     .knobs = backward_knobs,
     .knob_count = sizeof backward_knobs / sizeof *backward_knobs},
};

const struct igo_library igo_library_layer_norm = {
    .name = "layer_norm", .operations = operations, .operation_count = 2};

/* ---- forward ---- */

static void check(struct igo_call *call, const ingot_layer_norm_desc *desc,
                  struct igo_matrix *matrix, struct layer_norm_args *args) {
    args->x_stride = igo_matrix_begin(call, matrix, "x", desc->x, IGO_FLOATS, false);
    args->out_stride = igo_matrix_more(call, matrix, "out", desc->out, 0, true);
    if (desc->weight) {
        igo_matrix_vector(call, matrix, "weight", desc->weight);
    }
    if (desc->bias) {
        igo_matrix_vector(call, matrix, "bias", desc->bias);
    }
    if (desc->weight && desc->bias && !call->failed) {
        igo_same_type(call, "bias", desc->bias, "weight", desc->weight);
    }
    if (desc->mean) {
        igo_matrix_column(call, matrix, "mean", desc->mean);
    }
    if (desc->rstd) {
        igo_matrix_column(call, matrix, "rstd", desc->rstd);
    }
    args->eps = igo_row_eps(call, desc->eps, 1e-5f);
    const struct igo_named outputs[] = {
        {"out", desc->out, false}, {"mean", desc->mean, false}, {"rstd", desc->rstd, false}};
    const struct igo_named inputs[] = {
        {"x", desc->x, true}, {"weight", desc->weight, false}, {"bias", desc->bias, false}};
    igo_apart(call, outputs, 3, inputs, 3);
    args->rows = matrix->rows;
    args->columns = matrix->columns;
    args->save_mean = desc->mean != NULL;
    args->save_rstd = desc->rstd != NULL;
    args->has_bias = desc->bias != NULL;
}

ingot_status ingot_op_layer_norm(ingot_ops *ops, ingot_stream *stream,
                                 const ingot_layer_norm_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    struct layer_norm_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_layer_norm, &operations[FORWARD], desc);
    if (!call.failed) {
        check(&call, desc, &matrix, &args);
    }
    if (call.failed || !matrix.rows || !matrix.columns) {
        return igo_end(&call);
    }

    igo_matrix_policy(&call, &matrix);
    args.past_caches = igo_stores_past_caches(&call, desc->out);
    const ingot_scalar_type type = desc->x->type;
    const ingot_tensor *affine = desc->weight ? desc->weight : desc->bias;
    struct igo_launch launch = {0};
    const uint32_t keep = igo_matrix_keep(&call, &matrix, (const uint32_t[]){8}, 1);
    igo_matrix_fill(&call, &matrix);
    igo_launch_kernel(&launch, "layer_norm_%s_%s_k%u%s", igo_type_name(type),
                      igo_type_name(affine ? affine->type : type), keep,
                      igo_matrix_part(&call, &matrix));
    igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    igo_launch_constant_bool(&launch, "HAS_WEIGHT", desc->weight != NULL);
    igo_launch_constant_bool(&launch, "X_STAYS", igo_matrix_stays(&call, &matrix));
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_optional(&launch, desc->weight);
    igo_launch_optional(&launch, desc->bias);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_optional(&launch, desc->mean);
    igo_launch_optional(&launch, desc->rstd);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

/* ---- backward ---- */

static void check_backward(struct igo_call *call, const ingot_layer_norm_backward_desc *desc,
                           struct igo_matrix *matrix, struct layer_norm_backward_args *args) {
    args->x_stride = igo_matrix_begin(call, matrix, "x", desc->x, IGO_FLOATS, false);
    args->dy_stride = igo_matrix_more(call, matrix, "dy", desc->dy, 0, false);
    args->dx_stride = igo_matrix_more(call, matrix, "dx", desc->dx, 0, true);
    if (desc->weight) {
        igo_matrix_vector(call, matrix, "weight", desc->weight);
    }
    IGO_REQUIRE(call, !desc->mean == !desc->rstd, "%s is given, but %s is not",
                desc->mean ? "mean" : "rstd", desc->mean ? "rstd" : "mean");
    if (desc->mean && desc->rstd) {
        igo_matrix_column(call, matrix, "mean", desc->mean);
        igo_matrix_column(call, matrix, "rstd", desc->rstd);
    }
    if (desc->dweight) {
        igo_matrix_vector(call, matrix, "dweight", desc->dweight);
    }
    if (desc->dbias) {
        igo_matrix_vector(call, matrix, "dbias", desc->dbias);
    }
    args->eps = igo_row_eps(call, desc->eps, 1e-5f);
    const struct igo_named outputs[] = {
        {"dx", desc->dx, false}, {"dweight", desc->dweight, false}, {"dbias", desc->dbias, false}};
    const struct igo_named inputs[] = {{"x", desc->x, true},
                                       {"dy", desc->dy, true},
                                       {"weight", desc->weight, false},
                                       {"mean", desc->mean, false},
                                       {"rstd", desc->rstd, false}};
    igo_apart(call, outputs, 3, inputs, 5);
    args->rows = matrix->rows;
    args->columns = matrix->columns;
    args->has_statistics = desc->mean != NULL;
    args->sum_weight = desc->dweight != NULL;
    args->sum_bias = desc->dbias != NULL;
}

static void launch_rows(struct igo_call *call, const ingot_layer_norm_backward_desc *desc,
                        const struct igo_matrix *matrix,
                        const struct layer_norm_backward_args *args, uint64_t parts,
                        const ingot_tensor sums[2]) {
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "layer_norm_backward_%s_%s", igo_type_name(desc->x->type),
                      igo_type_name(desc->weight ? desc->weight->type : desc->x->type));
    igo_launch_rows(call, &launch, matrix, parts);
    igo_launch_constant_bool(&launch, "HAS_WEIGHT", desc->weight != NULL);
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_optional(&launch, desc->weight);
    igo_launch_tensor(&launch, desc->dy, NULL);
    igo_launch_optional(&launch, desc->mean);
    igo_launch_optional(&launch, desc->rstd);
    igo_launch_tensor(&launch, desc->dx, NULL);
    igo_launch_optional(&launch, &sums[0]);
    igo_launch_optional(&launch, &sums[1]);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);
}

ingot_status ingot_op_layer_norm_backward(ingot_ops *ops, ingot_stream *stream,
                                          const ingot_layer_norm_backward_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    struct layer_norm_backward_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_layer_norm, &operations[BACKWARD], desc);
    if (!call.failed) {
        check_backward(&call, desc, &matrix, &args);
    }
    if (call.failed || !matrix.columns) {
        return igo_end(&call);
    }

    const ingot_tensor *gradients[2] = {desc->dweight, desc->dbias};
    if (!matrix.rows) {
        for (int i = 0; i < 2; i++) {
            if (gradients[i]) {
                igo_blit_fill(&call, gradients[i], 0);
            }
        }
        return igo_end(&call);
    }
    igo_matrix_policy(&call, &matrix);
    struct igo_parts parts = {1, matrix.rows};
    if (desc->dweight || desc->dbias) {
        parts = igo_matrix_parts(&call, &matrix);
    }
    args.part = parts.rows;
    args.past_caches = igo_stores_past_caches(&call, desc->dx);
    ingot_tensor sums[2];
    for (int i = 0; i < 2; i++) {
        sums[i] = igo_parts_begin(&call, &parts, gradients[i]);
    }
    launch_rows(&call, desc, &matrix, &args, parts.count, sums);
    for (int i = 0; i < 2; i++) {
        igo_parts_end(&call, &igo_library_layer_norm, &sums[i], gradients[i]);
    }
    return igo_end(&call);
}
