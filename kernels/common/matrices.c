/* Checks that operations on batches of matrices share. */
#include "common/matrices.h"

ingot_tensor igo_transposed(const ingot_tensor *tensor) {
    ingot_tensor t = *tensor;
    t.shape[t.rank - 1] = tensor->shape[t.rank - 2];
    t.shape[t.rank - 2] = tensor->shape[t.rank - 1];
    t.strides[t.rank - 1] = tensor->strides[t.rank - 2];
    t.strides[t.rank - 2] = tensor->strides[t.rank - 1];
    return t;
}

int64_t igo_batch(const ingot_tensor *t, uint32_t inner) {
    int64_t count = 1;
    for (uint32_t i = 0; i + inner < t->rank; i++) {
        count *= t->shape[i];
    }
    return count;
}

bool igo_check_matrix(struct igo_call *call, const char *name, const ingot_tensor *t) {
    if (!igo_tensor(call, name, t, IGO_FLOATS, 2, INGOT_MAX_RANK)) {
        return false;
    }
    for (uint32_t i = t->rank - 2; i < t->rank; i++) {
        if (!IGO_REQUIRE(call, t->shape[i] <= IGO_MAX_MATRIX,
                         "%s has extent %lld in dimension %u; matrices have up to %d rows and "
                         "columns",
                         name, (long long)t->shape[i], i, IGO_MAX_MATRIX)) {
            return false;
        }
    }
    return IGO_REQUIRE(call, igo_batch(t, 2) <= (int64_t)1 << 31,
                       "%s has a batch of %lld; it may have up to 2^31", name,
                       (long long)igo_batch(t, 2));
}

static bool same_batch(struct igo_call *call, const char *name, const ingot_tensor *t,
                       uint32_t inner, const char *a_name, const ingot_tensor *a) {
    char one[160], other[160];
    bool same = t->rank - inner == a->rank - 2;
    for (uint32_t i = 0; same && i + inner < t->rank; i++) {
        same = t->shape[i] == a->shape[i];
    }
    return IGO_REQUIRE(call, same, "%s has shape %s, but its batch must be that of %s, %s", name,
                       igo_shape_text(t, one), a_name, igo_shape_text(a, other));
}

bool igo_matrix_like(struct igo_call *call, const char *name, const ingot_tensor *t,
                     const char *a_name, const ingot_tensor *a, int64_t rows, int64_t columns) {
    char text[160];
    if (!igo_check_matrix(call, name, t) || !igo_same_type(call, name, t, a_name, a) ||
        !same_batch(call, name, t, 2, a_name, a)) {
        return false;
    }
    return IGO_REQUIRE(call, igo_matrix_rows(t) == rows && igo_matrix_columns(t) == columns,
                       "%s has shape %s; its matrices must be %lld by %lld", name,
                       igo_shape_text(t, text), (long long)rows, (long long)columns);
}

bool igo_batch_integers(struct igo_call *call, const char *name, const ingot_tensor *t,
                        const ingot_tensor *a, uint32_t inner, int64_t extent, bool optional) {
    if (optional && !t) {
        return !call->failed;
    }
    if (!igo_tensor(call, name, t, IGO_TYPE(INGOT_SCALAR_I32), inner, INGOT_MAX_RANK) ||
        !same_batch(call, name, t, inner, "a", a)) {
        return false;
    }
    if (inner && !igo_extent(call, name, t, -1, extent, "the number of pivots")) {
        return false;
    }
    return igo_dense(call, name, t);
}

bool igo_distinct(struct igo_call *call, const char *name, const ingot_tensor *t) {
    for (uint32_t i = 0; !call->failed && i < t->rank; i++) {
        IGO_REQUIRE(call, t->strides[i] != 0 || t->shape[i] <= 1,
                    "%s has stride 0 in dimension %u of extent %lld; its elements must be distinct",
                    name, i, (long long)t->shape[i]);
    }
    return !call->failed;
}

void igo_launch_threadgroups(struct igo_launch *launch, uint64_t groups) {
    const uint64_t row = (uint64_t)1 << 24;
    launch->threadgroups[0] = (uint32_t)(groups < row ? groups : row);
    launch->threadgroups[1] = (uint32_t)((groups + row - 1) / row);
    launch->threadgroups[2] = 1;
}
