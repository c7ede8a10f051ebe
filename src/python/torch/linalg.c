/* Linear algebra and spectral decompositions, over batches of matrices. */
#include "python/torch/operators.h"

/* An output of the batch of `a`, with `count` dimensions more. */
static const ingot_tensor *output(struct frame *frame, uint32_t number, const ingot_tensor *a,
                                  ingot_scalar_type type, uint32_t count, int64_t first,
                                  int64_t second) {
    int64_t shape[INGOT_MAX_RANK] = {0};
    uint32_t batch = a->rank < 2 ? 0 : a->rank - 2;
    for (uint32_t i = 0; i < batch; i++) {
        shape[i] = a->shape[i];
    }
    if (count > 0) {
        shape[batch] = first;
    }
    if (count > 1) {
        shape[batch + 1] = second;
    }
    return frame_output(frame, number, type, batch + count, shape);
}

static const ingot_tensor *matrices(struct frame *frame, uint32_t argument, int64_t *rows,
                                    int64_t *columns) {
    const ingot_tensor *a = frame_tensor(frame, argument, LAYOUT_ANY);
    *rows = frame_extent(a, -2);
    *columns = frame_extent(a, -1);
    return a;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

ingot_status torch_op_qr(struct frame *frame) {
    int64_t m, n;
    const ingot_tensor *a = matrices(frame, 0, &m, &n);
    bool complete = frame_bool(frame, 1);
    int64_t k = complete ? m : smaller(m, n);
    const ingot_qr_desc desc = {.a = a,
                                .q = output(frame, 0, a, a->type, 2, m, k),
                                .r = output(frame, 1, a, a->type, 2, k, n),
                                .complete = complete};
    return FRAME_RUN(frame, ingot_op_qr, &desc);
}

ingot_status torch_op_cholesky(struct frame *frame) {
    const ingot_tensor *a = frame_tensor(frame, 0, LAYOUT_ANY);
    const ingot_cholesky_desc desc = {.a = a,
                                      .factor = frame_like(frame, 0, a),
                                      .info = output(frame, 1, a, INGOT_SCALAR_I32, 0, 0, 0),
                                      .upper = frame_bool(frame, 1)};
    return FRAME_RUN(frame, ingot_op_cholesky, &desc);
}

ingot_status torch_op_lu(struct frame *frame) {
    int64_t m, n;
    const ingot_tensor *a = matrices(frame, 0, &m, &n);
    const ingot_lu_desc desc = {.a = a,
                                .lu = frame_like(frame, 0, a),
                                .pivots =
                                    output(frame, 1, a, INGOT_SCALAR_I32, 1, smaller(m, n), 0),
                                .info = output(frame, 2, a, INGOT_SCALAR_I32, 0, 0, 0)};
    return FRAME_RUN(frame, ingot_op_lu, &desc);
}

ingot_status torch_op_solve(struct frame *frame) {
    const ingot_tensor *a = frame_tensor(frame, 0, LAYOUT_ANY);
    const ingot_tensor *b = frame_tensor(frame, 1, LAYOUT_ANY);
    const ingot_solve_desc desc = {.a = a,
                                   .b = b,
                                   .x = frame_like(frame, 0, b),
                                   .info = output(frame, 1, a, INGOT_SCALAR_I32, 0, 0, 0)};
    return FRAME_RUN(frame, ingot_op_solve, &desc);
}

ingot_status torch_op_triangular_solve(struct frame *frame) {
    const ingot_tensor *b = frame_tensor(frame, 1, LAYOUT_ANY);
    const ingot_triangular_solve_desc desc = {.a = frame_tensor(frame, 0, LAYOUT_ANY),
                                              .b = b,
                                              .x = frame_like(frame, 0, b),
                                              .upper = frame_bool(frame, 2),
                                              .transposed = frame_bool(frame, 3),
                                              .unit = frame_bool(frame, 4),
                                              .right = frame_bool(frame, 5)};
    return FRAME_RUN(frame, ingot_op_triangular_solve, &desc);
}

ingot_status torch_op_lstsq(struct frame *frame) {
    int64_t m, n;
    const ingot_tensor *a = matrices(frame, 0, &m, &n);
    const ingot_tensor *b = frame_tensor(frame, 1, LAYOUT_ANY);
    const ingot_lstsq_desc desc = {.a = a,
                                   .b = b,
                                   .x = output(frame, 0, b, b->type, 2, n, frame_extent(b, -1)),
                                   .rank = output(frame, 1, a, INGOT_SCALAR_I32, 0, 0, 0),
                                   .rcond = (float)frame_float(frame, 2)};
    return FRAME_RUN(frame, ingot_op_lstsq, &desc);
}

ingot_status torch_op_eigh(struct frame *frame) {
    const ingot_tensor *a = frame_tensor(frame, 0, LAYOUT_ANY);
    const ingot_eigh_desc desc = {.a = a,
                                  .values = output(frame, 0, a, a->type, 1, frame_extent(a, -1), 0),
                                  .vectors = frame_like(frame, 1, a),
                                  .upper = frame_bool(frame, 1)};
    return FRAME_RUN(frame, ingot_op_eigh, &desc);
}

ingot_status torch_op_eigvalsh(struct frame *frame) {
    const ingot_tensor *a = frame_tensor(frame, 0, LAYOUT_ANY);
    const ingot_eigh_desc desc = {.a = a,
                                  .values = output(frame, 0, a, a->type, 1, frame_extent(a, -1), 0),
                                  .upper = frame_bool(frame, 1)};
    return FRAME_RUN(frame, ingot_op_eigh, &desc);
}

ingot_status torch_op_svd(struct frame *frame) {
    int64_t m, n;
    const ingot_tensor *a = matrices(frame, 0, &m, &n);
    int64_t k = smaller(m, n);
    const ingot_svd_desc desc = {.a = a,
                                 .u = output(frame, 0, a, a->type, 2, m, k),
                                 .s = output(frame, 1, a, a->type, 1, k, 0),
                                 .vh = output(frame, 2, a, a->type, 2, k, n)};
    return FRAME_RUN(frame, ingot_op_svd, &desc);
}

ingot_status torch_op_svdvals(struct frame *frame) {
    int64_t m, n;
    const ingot_tensor *a = matrices(frame, 0, &m, &n);
    const ingot_svd_desc desc = {.a = a, .s = output(frame, 0, a, a->type, 1, smaller(m, n), 0)};
    return FRAME_RUN(frame, ingot_op_svd, &desc);
}
