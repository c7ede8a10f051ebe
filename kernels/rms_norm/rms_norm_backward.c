/* The backward of rms_norm on the host: dx and the parts' sums in one launch, dweight in another.
 */
#include "rms_norm/rms_norm_backward.h"

#include "common/row_parts.h"
#include "rms_norm/rms_norm_args.h"

const ingot_ops_knob rms_norm_backward_knobs[RMS_NORM_BACKWARD_KNOBS] = {IGO_ROW_KNOBS(1),
                                                                         IGO_ROW_KNOB_PARTS};

static void check(struct igo_call *call, const struct rms_norm_backward *b,
                  struct igo_matrix *matrix, struct rms_norm_backward_args *args) {
    args->x_stride = igo_matrix_begin(call, matrix, b->x_name, b->x, IGO_FLOATS, false);
    args->dy_stride = igo_matrix_more(call, matrix, "dy", b->dy, 0, false);
    args->dx_stride = igo_matrix_more(call, matrix, "dx", b->dx, 0, true);
    if (b->add) {
        args->add_stride = igo_matrix_more(call, matrix, b->add_name, b->add, 0, false);
    }
    if (b->weight) {
        igo_matrix_vector(call, matrix, "weight", b->weight);
    }
    if (b->rstd) {
        igo_matrix_column(call, matrix, "rstd", b->rstd);
    }
    if (b->dweight) {
        igo_matrix_vector(call, matrix, "dweight", b->dweight);
    }
    args->eps = igo_row_eps(call, b->eps, 1e-6f);
    const struct igo_named outputs[] = {{"dx", b->dx, false}, {"dweight", b->dweight, false}};
    const struct igo_named inputs[] = {{b->x_name, b->x, true},
                                       {"dy", b->dy, true},
                                       {b->add_name, b->add, true},
                                       {"weight", b->weight, false},
                                       {"rstd", b->rstd, false}};
    igo_apart(call, outputs, 2, inputs, 5);
}

static void launch_rows(struct igo_call *call, const struct rms_norm_backward *b,
                        const struct igo_matrix *matrix, const struct rms_norm_backward_args *args,
                        uint64_t parts, const ingot_tensor *partial) {
    struct igo_launch launch = {.library = &igo_library_rms_norm};
    igo_launch_kernel(&launch, "rms_norm_backward_%s_%s", igo_type_name(b->x->type),
                      igo_type_name(b->weight ? b->weight->type : b->x->type));
    igo_launch_rows(call, &launch, matrix, parts);
    igo_launch_constant_bool(&launch, "HAS_WEIGHT", b->weight != NULL);
    igo_launch_tensor(&launch, b->x, NULL);
    igo_launch_optional(&launch, b->weight);
    igo_launch_tensor(&launch, b->dy, NULL);
    igo_launch_optional(&launch, b->rstd);
    igo_launch_optional(&launch, b->add);
    igo_launch_tensor(&launch, b->dx, NULL);
    igo_launch_optional(&launch, partial);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);
}

void rms_norm_backward_run(struct igo_call *call, const struct rms_norm_backward *b) {
    struct igo_matrix matrix;
    struct rms_norm_backward_args args = {
        .has_rstd = b->rstd != NULL, .has_add = b->add != NULL, .sum_weight = b->dweight != NULL};
    check(call, b, &matrix, &args);
    if (call->failed || !matrix.columns) {
        return;
    }
    if (!matrix.rows) {
        if (b->dweight) {
            igo_blit_fill(call, b->dweight, 0);
        }
        return;
    }
    igo_matrix_policy(call, &matrix);
    args.rows = matrix.rows;
    args.columns = matrix.columns;
    struct igo_parts parts = {1, matrix.rows};
    if (b->dweight) {
        parts = igo_matrix_parts(call, &matrix);
    }
    args.part = parts.rows;
    args.past_caches = igo_stores_past_caches(call, b->dx);
    ingot_tensor partial = igo_parts_begin(call, &parts, b->dweight);
    launch_rows(call, b, &matrix, &args, parts.count, &partial);
    igo_parts_end(call, &igo_library_rms_norm, &partial, b->dweight);
}
