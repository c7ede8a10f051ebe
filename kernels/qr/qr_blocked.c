/* The blocked QR on the host: scale the columns, then for each panel of 32 columns factor it and
 * apply its block reflector to the columns on its right. */
#include "common/matrices.h"
#include "qr/qr.h"
#include "qr/qr_args.h"

static uint64_t panel_rows_before(const struct igo_qr *qr, uint32_t first) {
    const uint64_t panels = first / QR_PANEL;
    return panels * qr->rows - QR_PANEL * (panels * (panels - (panels > 0)) / 2);
}

static uint32_t steps_of(const struct igo_qr *qr) {
    return qr->rows < qr->columns ? qr->rows : qr->columns;
}

static uint32_t width_at(const struct igo_qr *qr, uint32_t first) {
    const uint32_t left = steps_of(qr) - first;
    return left < QR_PANEL ? left : QR_PANEL;
}

static void scale_columns(struct igo_call *call, const ingot_tensor *a, const struct igo_qr *qr) {
    struct igo_launch launch = {.library = &igo_library_qr, .kernel = "qr_scale"};
    const struct qr_matrix_args args = {.rows = qr->rows, .columns = qr->columns};
    igo_launch_tensor(&launch, a, NULL);
    igo_launch_buffer(&launch, qr->work, 0);
    igo_launch_buffer(&launch, qr->scales, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = qr->batch;
    launch.threadgroups[1] = (qr->columns + 31) / 32;
    launch.threadgroups[2] = 1;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
}

static void factor_panel(struct igo_call *call, const struct igo_qr *qr, uint32_t first) {
    const uint32_t simds = qr->launch.panel_simds;
    struct igo_launch launch = {.library = &igo_library_qr, .whole_simdgroups = true};
    igo_launch_kernel(&launch, simds > 1 ? "qr_panel_shared" : "qr_panel_alone");
    const struct qr_panel_args args = {.v_stride = qr->v_stride,
                                       .t_stride = qr->t_stride,
                                       .v_first = panel_rows_before(qr, first) * QR_PANEL,
                                       .t_first = (uint64_t)first * QR_PANEL,
                                       .rows = qr->rows,
                                       .columns = qr->columns,
                                       .first = first,
                                       .width = width_at(qr, first)};
    igo_launch_buffer(&launch, qr->work, 0);
    igo_launch_buffer(&launch, qr->v, 0);
    igo_launch_buffer(&launch, qr->t, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = qr->batch;
    launch.threadgroups[1] = launch.threadgroups[2] = 1;
    launch.threadgroup_lengths[0] =
        (uint32_t)sizeof(float) * QR_PANEL * (QR_PANEL + (simds > 1 ? simds : 1));
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
}

static void apply_panel(struct igo_call *call, const struct igo_qr *qr, uint32_t first,
                        const ingot_arg *target, uint32_t columns, uint32_t from, bool adjoint) {
    if (from >= columns) {
        return;
    }
    const uint32_t strips = (columns - from + QR_PANEL - 1) / QR_PANEL;
    const uint32_t simds = strips < qr->launch.apply_simds ? strips : qr->launch.apply_simds;
    struct igo_launch launch = {
        .library = &igo_library_qr, .kernel = "qr_apply", .whole_simdgroups = true};
    const struct qr_apply_args args = {.v_stride = qr->v_stride,
                                       .t_stride = qr->t_stride,
                                       .v_first = panel_rows_before(qr, first) * QR_PANEL,
                                       .t_first = (uint64_t)first * QR_PANEL,
                                       .target_stride = (uint64_t)qr->rows * columns,
                                       .rows = qr->rows,
                                       .columns = columns,
                                       .first = first,
                                       .from = from,
                                       .transposed = adjoint,
                                       .width = width_at(qr, first)};
    igo_launch_buffer(&launch, target->buffer, target->offset);
    igo_launch_buffer(&launch, qr->v, 0);
    igo_launch_buffer(&launch, qr->t, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = qr->batch;
    launch.threadgroups[1] = (strips + simds - 1) / simds;
    launch.threadgroups[2] = 1;
    launch.threadgroup_lengths[0] = simds * 2 * QR_PANEL * QR_PANEL * (uint32_t)sizeof(float);
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
}

bool igo_qr_factor(struct igo_call *call, const ingot_tensor *a, struct igo_qr_launch launch,
                   struct igo_qr *qr) {
    *qr = (struct igo_qr){.rows = (uint32_t)igo_matrix_rows(a),
                          .columns = (uint32_t)igo_matrix_columns(a),
                          .batch = (uint32_t)igo_batch(a, 2),
                          .launch = launch};
    qr->launch.products = launch.products && qr->rows <= QR_COLUMNS_ROWS;
    if (qr->launch.products) {
        return igo_qr_factor_in_products(call, a, qr);
    }
    const uint32_t steps = steps_of(qr), panels = (steps + QR_PANEL - 1) / QR_PANEL;
    qr->v_stride = panel_rows_before(qr, panels * QR_PANEL) * QR_PANEL;
    qr->t_stride = (uint64_t)panels * QR_PANEL * QR_PANEL;
    qr->work =
        igo_scratch(call, sizeof(float) * (uint64_t)qr->batch * qr->rows * (uint64_t)qr->columns);
    qr->scales = igo_scratch(call, sizeof(float) * (uint64_t)qr->batch * qr->columns);
    qr->v = igo_scratch(call, sizeof(float) * qr->batch * qr->v_stride);
    qr->t = igo_scratch(call, sizeof(float) * qr->batch * qr->t_stride);
    if (call->failed) {
        return false;
    }
    scale_columns(call, a, qr);
    const ingot_arg work = {.buffer = qr->work};
    for (uint32_t first = 0; first < steps && !call->failed; first += QR_PANEL) {
        factor_panel(call, qr, first);
        apply_panel(call, qr, first, &work, qr->columns, first + width_at(qr, first), true);
    }
    return !call->failed;
}

bool igo_qr_apply(struct igo_call *call, const struct igo_qr *qr, const ingot_tensor *target,
                  bool adjoint, bool from_identity) {
    if (qr->launch.products) {
        return igo_qr_apply_in_products(call, qr, target, adjoint, from_identity);
    }
    const uint32_t steps = steps_of(qr), columns = (uint32_t)igo_matrix_columns(target);
    const uint32_t panels = (steps + QR_PANEL - 1) / QR_PANEL;
    const ingot_arg memory = {.buffer = target->buffer, .offset = target->offset};
    for (uint32_t i = 0; i < panels && !call->failed; i++) {
        const uint32_t first = (adjoint ? i : panels - 1 - i) * QR_PANEL;
        apply_panel(call, qr, first, &memory, columns, from_identity ? first : 0, adjoint);
    }
    return !call->failed;
}

bool igo_qr_store_r(struct igo_call *call, const struct igo_qr *qr, const ingot_tensor *r) {
    struct igo_launch launch = {.library = &igo_library_qr, .kernel = "qr_store_r"};
    const struct qr_store_args args = {
        .rows = (uint32_t)igo_matrix_rows(r), .columns = qr->columns, .source_rows = qr->rows};
    igo_launch_buffer(&launch, qr->work, 0);
    igo_launch_buffer(&launch, qr->scales, 0);
    igo_launch_tensor(&launch, r, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32;
    launch.group[1] = 8;
    launch.group[2] = 1;
    launch.threads[0] = (qr->columns + 31) / 32 * 32;
    launch.threads[1] = args.rows;
    launch.threads[2] = qr->batch;
    return igo_dispatch(call, &launch);
}

void igo_qr_release(struct igo_call *call, struct igo_qr *qr) {
    ingot_buffer *const buffers[] = {qr->work, qr->scales, qr->v, qr->t, qr->taus};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i]) {
            igo_scratch_release(call, buffers[i]);
        }
    }
}
