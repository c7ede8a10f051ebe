/* cross_entropy on the host: the number of rows that count (for the mean), the rows, and the sum of
 * their losses, a launch each. */
#include "cross_entropy/cross_entropy_args.h"
#include "ops/rows.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS(1)};

static const struct ingot_ops_info operations[] = {
    {.name = "cross_entropy",
     .family = "rows",
     .summary = "loss of logits and targets, and the gradient of the logits with it",
     .limits = "logits of two dimensions with dense rows; one class per target; no class weights",
     .variants = "type of logits, type of the rows' losses, row length",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_cross_entropy = {
    .name = "cross_entropy", .operations = operations, .operation_count = 1};

/* A loss or its gradient: a number per row, or one. */
static void check_loss(struct igo_call *call, const ingot_cross_entropy_desc *desc,
                       const char *name, const ingot_tensor *tensor, uint32_t types) {
    bool per_row = desc->reduction == INGOT_REDUCTION_NONE;
    if (!igo_tensor(call, name, tensor, types, per_row ? 1 : 0, 1) ||
        !igo_dense(call, name, tensor)) {
        return;
    }
    if (per_row) {
        igo_extent(call, name, tensor, 0, desc->logits->shape[0], "the rows of logits");
    } else if (tensor->rank) {
        igo_extent(call, name, tensor, 0, 1, "one number for all rows");
    }
}

static void check(struct igo_call *call, const ingot_cross_entropy_desc *desc,
                  struct igo_matrix *matrix, struct cross_entropy_args *args) {
    args->logits_stride = igo_matrix_begin(call, matrix, "logits", desc->logits, IGO_FLOATS, false);
    if (!igo_tensor(call, "logits", desc->logits, IGO_FLOATS, 2, 2) ||
        !igo_tensor(call, "targets", desc->targets, IGO_INDICES, 1, 1) ||
        !igo_extent(call, "targets", desc->targets, 0, desc->logits->shape[0],
                    "the rows of logits") ||
        !igo_dense(call, "targets", desc->targets)) {
        return;
    }
    IGO_REQUIRE(call, !matrix->rows || matrix->columns,
                "logits has %llu rows of no classes; there must be at least one class",
                (unsigned long long)matrix->rows);
    IGO_REQUIRE(call, desc->loss || desc->dlogits,
                "loss and dlogits are both missing; there must be at least one");
    IGO_REQUIRE(call, (unsigned)desc->reduction <= INGOT_REDUCTION_NONE,
                "reduction is %d; it must be 0 (mean), 1 (sum) or 2 (none)", (int)desc->reduction);
    IGO_REQUIRE(call, desc->label_smoothing >= 0 && desc->label_smoothing <= 1,
                "label_smoothing is %g; it must be 0 to 1", (double)desc->label_smoothing);
    if (desc->dlogits) {
        args->dlogits_stride = igo_matrix_more(call, matrix, "dlogits", desc->dlogits, 0, true);
    }
    if (desc->loss && !call->failed) {
        check_loss(call, desc, "loss", desc->loss,
                   IGO_TYPE(desc->logits->type) | IGO_TYPE(INGOT_SCALAR_F32));
    }
    if (desc->dloss && !call->failed) {
        check_loss(call, desc, "dloss", desc->dloss, IGO_TYPE(INGOT_SCALAR_F32));
    }
    const struct igo_named outputs[] = {{"dlogits", desc->dlogits, false},
                                        {"loss", desc->loss, false}};
    const struct igo_named inputs[] = {{"logits", desc->logits, true},
                                       {"targets", desc->targets, false},
                                       {"dloss", desc->dloss, false}};
    igo_apart(call, outputs, 2, inputs, 3);
    bool per_row = desc->reduction == INGOT_REDUCTION_NONE;
    args->ignore_index = desc->set_ignore_index ? desc->ignore_index : -100;
    args->rows = matrix->rows;
    args->columns = matrix->columns;
    args->wide_targets = desc->targets->type == INGOT_SCALAR_I64;
    args->save_loss = desc->loss != NULL;
    args->save_gradient = desc->dlogits != NULL;
    args->mean = desc->reduction == INGOT_REDUCTION_MEAN;
    args->has_dloss = !desc->dloss ? 0 : per_row ? 2 : 1;
    args->label_smoothing = desc->label_smoothing;
}

static void launch_one(struct igo_call *call, struct igo_launch *launch,
                       const struct cross_entropy_args *args) {
    igo_launch_bytes(launch, args, sizeof *args);
    launch->threadgroups[0] = launch->threadgroups[1] = launch->threadgroups[2] = 1;
    launch->group[0] = 32;
    launch->group[1] = launch->group[2] = 1;
    launch->whole_simdgroups = true;
    igo_dispatch(call, launch);
}

static void launch_count(struct igo_call *call, const ingot_cross_entropy_desc *desc,
                         const struct cross_entropy_args *args, const ingot_tensor *counted) {
    struct igo_launch launch = {.kernel = "cross_entropy_count"};
    igo_launch_optional(&launch, args->rows ? desc->targets : NULL);
    igo_launch_tensor(&launch, counted, NULL);
    launch_one(call, &launch, args);
}

static void launch_rows(struct igo_call *call, const ingot_cross_entropy_desc *desc,
                        const struct igo_matrix *matrix, const struct cross_entropy_args *args,
                        const ingot_tensor *losses, const ingot_tensor *counted) {
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "cross_entropy_%s_%s", igo_type_name(desc->logits->type),
                      igo_type_name(losses ? losses->type : INGOT_SCALAR_F32));
    igo_launch_rows(call, &launch, matrix, matrix->rows);
    igo_launch_tensor(&launch, desc->logits, NULL);
    igo_launch_tensor(&launch, desc->targets, NULL);
    igo_launch_optional(&launch, losses);
    igo_launch_optional(&launch, desc->dlogits);
    igo_launch_optional(&launch, desc->dloss);
    igo_launch_optional(&launch, counted);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);
}

static void launch_reduce(struct igo_call *call, const ingot_cross_entropy_desc *desc,
                          const struct cross_entropy_args *args, const ingot_tensor *losses,
                          const ingot_tensor *counted) {
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "cross_entropy_reduce_%s", igo_type_name(desc->loss->type));
    igo_launch_tensor(&launch, losses, NULL);
    igo_launch_optional(&launch, counted);
    igo_launch_tensor(&launch, desc->loss, NULL);
    launch_one(call, &launch, args);
}

ingot_status ingot_op_cross_entropy(ingot_ops *ops, ingot_stream *stream,
                                    const ingot_cross_entropy_desc *desc) {
    struct igo_call call;
    struct igo_matrix matrix;
    struct cross_entropy_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_cross_entropy, &operations[0], desc);
    if (!call.failed) {
        check(&call, desc, &matrix, &args);
    }
    bool reduced = !call.failed && desc->loss && desc->reduction != INGOT_REDUCTION_NONE;
    if (call.failed || (!matrix.rows && !reduced)) {
        return igo_end(&call);
    }

    igo_matrix_policy(&call, &matrix);
    ingot_tensor counted = {0}, losses = {0};
    if (args.mean) {
        counted = igo_scratch_tensor(&call, INGOT_SCALAR_U32, 1, (const int64_t[]){1});
        launch_count(&call, desc, &args, &counted);
    }
    if (reduced) {
        losses = igo_scratch_tensor(&call, INGOT_SCALAR_F32, 1,
                                    (const int64_t[]){(int64_t)matrix.rows + 1});
    }
    if (matrix.rows) {
        launch_rows(&call, desc, &matrix, &args, reduced ? &losses : desc->loss, &counted);
    }
    if (reduced) {
        launch_reduce(&call, desc, &args, &losses, &counted);
    }
    if (losses.buffer) {
        igo_scratch_release(&call, losses.buffer);
    }
    if (counted.buffer) {
        igo_scratch_release(&call, counted.buffer);
    }
    return igo_end(&call);
}
