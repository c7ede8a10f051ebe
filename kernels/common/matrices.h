/* Host-side checks and counts for operations on batches of matrices, [..., rows, columns]. */
#ifndef INGOT_KERNELS_COMMON_MATRICES_H
#define INGOT_KERNELS_COMMON_MATRICES_H

#include "ops/call.h"

enum { IGO_MAX_MATRIX = 1 << 24 };

static inline int64_t igo_matrix_rows(const ingot_tensor *t) {
    return t->shape[t->rank - 2];
}
static inline int64_t igo_matrix_columns(const ingot_tensor *t) {
    return t->shape[t->rank - 1];
}
/* The last two dimensions exchanged. */
ingot_tensor igo_transposed(const ingot_tensor *tensor);
/* The product of all dimensions but the last `inner`. */
int64_t igo_batch(const ingot_tensor *t, uint32_t inner);

/* A float tensor of rank 2 or more whose extents are within limits. */
bool igo_check_matrix(struct igo_call *call, const char *name, const ingot_tensor *t);
/* The same, with the given extents, and the batch and type of `a`. */
bool igo_matrix_like(struct igo_call *call, const char *name, const ingot_tensor *t,
                     const char *a_name, const ingot_tensor *a, int64_t rows, int64_t columns);
/* int32, dense, of a's batch with `inner` more dimension (extent) when inner is 1. May be NULL when
 * `optional`. */
bool igo_batch_integers(struct igo_call *call, const char *name, const ingot_tensor *t,
                        const ingot_tensor *a, uint32_t inner, int64_t extent, bool optional);
/* At least `groups` threadgroups, wrapped into rows: the kernel finds its number as
 * position.y * groups.x + position.x, and must ignore those past the end. */
void igo_launch_threadgroups(struct igo_launch *launch, uint64_t groups);
/* Whether `batch` small matrices of n columns are worth a lane for each, by the knob "each": lanes
 * take as long for one matrix as for 32, and the longer the larger they are. */
static inline bool igo_fills_lanes(uint64_t batch, uint32_t n, uint32_t each) {
    return batch >= (each ? ((uint64_t)n * each + 1) / 2 : 32);
}
/* No dimension of stride 0. */
bool igo_distinct(struct igo_call *call, const char *name, const ingot_tensor *t);

#endif
