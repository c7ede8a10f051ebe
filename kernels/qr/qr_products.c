/* The blocked QR of up to 4096 rows on GPUs: a panel of 32 columns by one threadgroup, its
 * triangle, and three products for the columns on its right. */
#include "common/matrices.h"
#include "qr/qr.h"
#include "qr/qr_args.h"
#include "triangular/reflectors.h"

enum { MOST_THREADS = 512, SQUARE = IGO_REFLECTORS * IGO_REFLECTORS };

static uint32_t steps_of(const struct igo_qr *qr) {
    return qr->rows < qr->columns ? qr->rows : qr->columns;
}

/* Blocks of two panels, whose reflections are applied together. */
enum { BLOCK = IGO_REFLECTORS };

static uint32_t blocks_of(const struct igo_qr *qr) {
    return (steps_of(qr) + BLOCK - 1) / BLOCK;
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Blocks follow each other by columns: rows - first floats for each of 64. */
static uint64_t v_first(const struct igo_qr *qr, uint32_t first) {
    const uint64_t blocks = first / BLOCK;
    return BLOCK * (blocks * qr->rows - BLOCK * (blocks * (blocks - (blocks > 0)) / 2));
}

static struct igo_block block_at(const struct igo_qr *qr, uint32_t first) {
    return (struct igo_block){.memory = {.buffer = qr->v},
                              .first = (int64_t)v_first(qr, first),
                              .row = 1,
                              .column = qr->rows - first,
                              .matrix = (int64_t)qr->v_stride};
}

static void scale(struct igo_call *call, const ingot_tensor *a, const struct igo_qr *qr) {
    const struct qr_matrix_args args = {.rows = qr->rows, .columns = qr->columns};
    struct igo_launch launch = {.library = &igo_library_qr,
                                .kernel = "qr_scale_shared",
                                .group = {1024, 1, 1},
                                .threadgroups = {qr->batch, (qr->columns + 31) / 32, 1},
                                .whole_simdgroups = true};
    igo_launch_tensor(&launch, a, NULL);
    igo_launch_buffer(&launch, qr->work, 0);
    igo_launch_buffer(&launch, qr->scales, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
}

/* The triangle of the first `width` reflections of the block that begins at column `first`. */
static void make_triangle(struct igo_call *call, const struct igo_qr *qr, uint32_t first,
                          uint32_t width) {
    const uint64_t block = first / BLOCK;
    const struct igo_reflectors r = {.v = block_at(qr, first),
                                     .rows = qr->rows - first,
                                     .width = width,
                                     .taus = qr->taus,
                                     .t = qr->t,
                                     .first_tau = block * BLOCK,
                                     .tau_matrix = (uint64_t)blocks_of(qr) * BLOCK,
                                     .first_t = block * SQUARE,
                                     .t_matrix = (uint64_t)blocks_of(qr) * SQUARE,
                                     .blocks = 1,
                                     .batch = qr->batch};
    ingot_buffer *scratch = igo_scratch(call, sizeof(float) * igo_reflector_floats(call, &r));
    igo_reflector_triangles(call, &r, scratch);
    if (scratch) {
        igo_scratch_release(call, scratch);
    }
}

/* Columns of a matrix, from `from` on. */
struct columns {
    uint32_t from, count;
};

/* Applies them to columns of the target. */
static void apply_block(struct igo_call *call, const struct igo_qr *qr, uint32_t first,
                        uint32_t width, struct igo_block target, struct columns columns,
                        bool adjoint) {
    const struct igo_reflection r = {.v = block_at(qr, first),
                                     .target = igo_block_at(target, first, columns.from),
                                     .t = qr->t,
                                     .first_t = (uint64_t)first / BLOCK * SQUARE,
                                     .t_matrix = (uint64_t)blocks_of(qr) * SQUARE,
                                     .rows = qr->rows - first,
                                     .width = width,
                                     .columns = columns.count,
                                     .batch = qr->batch,
                                     .adjoint = adjoint};
    ingot_buffer *scratch = igo_scratch(call, sizeof(float) * igo_reflect_floats(call, &r));
    igo_reflect(call, &r, scratch);
    if (scratch) {
        igo_scratch_release(call, scratch);
    }
}

static void factor_panel(struct igo_call *call, const struct igo_qr *qr, uint32_t first,
                         uint32_t width) {
    const uint32_t rows = qr->rows - first, above = first % BLOCK, start = first - above;
    const uint32_t each = rows <= 2 * MOST_THREADS ? 2 : rows <= 4 * MOST_THREADS ? 4 : 8;
    const uint32_t threads = ((rows + each - 1) / each + 31) / 32 * 32;
    const uint64_t line = qr->rows - start;
    const struct qr_panel_args args = {.v_stride = qr->v_stride,
                                       .t_stride = (uint64_t)blocks_of(qr) * BLOCK,
                                       .v_first = v_first(qr, start) + above * line + above,
                                       .t_first = first,
                                       .rows = qr->rows,
                                       .columns = qr->columns,
                                       .first = first,
                                       .width = width,
                                       .v_line = (uint32_t)line,
                                       .above = above};
    struct igo_launch launch = {.library = &igo_library_qr,
                                .group = {threads, 1, 1},
                                .threadgroups = {qr->batch, 1, 1},
                                .whole_simdgroups = true};
    igo_launch_kernel(&launch, "qr_columns_%u", each);
    igo_launch_buffer(&launch, qr->work, 0);
    igo_launch_buffer(&launch, qr->v, 0);
    igo_launch_buffer(&launch, qr->taus, 0);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
}

/* Both panels of the block at `first`, and what its reflections do to the columns on its right. */
static void factor_block(struct igo_call *call, const struct igo_qr *qr, uint32_t first) {
    const uint32_t width = least(steps_of(qr) - first, BLOCK), half = least(width, QR_PANEL);
    const struct igo_block work =
        igo_block_in(qr->work, 0, qr->columns, (int64_t)qr->rows * qr->columns);
    factor_panel(call, qr, first, half);
    make_triangle(call, qr, first, half);
    if (width > half) {
        const struct columns second = {first + half, width - half};
        apply_block(call, qr, first, half, work, second, true);
        factor_panel(call, qr, first + half, width - half);
        make_triangle(call, qr, first, width);
    }
    if (qr->columns > first + width) {
        const struct columns right = {first + width, qr->columns - first - width};
        apply_block(call, qr, first, width, work, right, true);
    }
}

bool igo_qr_factor_in_products(struct igo_call *call, const ingot_tensor *a, struct igo_qr *qr) {
    const uint32_t blocks = blocks_of(qr), steps = steps_of(qr);
    const uint64_t batch = qr->batch;
    qr->v_stride = v_first(qr, blocks * BLOCK);
    qr->work = igo_scratch(call, sizeof(float) * batch * qr->rows * (uint64_t)qr->columns);
    qr->scales = igo_scratch(call, sizeof(float) * batch * qr->columns);
    qr->v = igo_scratch(call, sizeof(float) * batch * qr->v_stride);
    qr->t = igo_scratch(call, sizeof(float) * batch * blocks * SQUARE);
    qr->taus = igo_scratch(call, sizeof(float) * batch * blocks * BLOCK);
    if (call->failed) {
        return false;
    }
    scale(call, a, qr);
    for (uint32_t first = 0; first < steps && !call->failed; first += BLOCK) {
        factor_block(call, qr, first);
    }
    return !call->failed;
}

bool igo_qr_apply_in_products(struct igo_call *call, const struct igo_qr *qr,
                              const ingot_tensor *target, bool adjoint, bool from_identity) {
    const uint32_t columns = (uint32_t)igo_matrix_columns(target), blocks = blocks_of(qr);
    const struct igo_block all = igo_block_of(target, 0, 0);
    for (uint32_t i = 0; i < blocks && !call->failed; i++) {
        const uint32_t first = (adjoint ? i : blocks - 1 - i) * BLOCK;
        const uint32_t from = from_identity ? first : 0;
        if (from < columns) {
            apply_block(call, qr, first, least(steps_of(qr) - first, BLOCK), all,
                        (struct columns){from, columns - from}, adjoint);
        }
    }
    return !call->failed;
}
