/* What the operations on quantised weights share: the check of an ingot_quantised. */
#ifndef INGOT_KERNELS_QUANTISE_H
#define INGOT_KERNELS_QUANTISE_H

#include "ops/call.h"

/* Checks all of it against [n, k]; `name` prefixes the tensors' names in messages ("weights."). */
bool igo_quantised(struct igo_call *call, const char *name, const ingot_quantised *q, int64_t n,
                   int64_t k);
/* k from the packed tensor, for operations whose k comes from nowhere else. */
int64_t igo_quantised_columns(const ingot_quantised *q);
/* The function constants bits and has_biases. */
void igo_quantised_constants(struct igo_launch *launch, const ingot_quantised *q);

/* out [m, n] = epilogue(x [m, k] times the transposed weights + bias): matrices that were checked.
 */
struct igo_quantised_product {
    ingot_tensor x, out;
    const ingot_quantised *weights;
    const ingot_tensor *bias; /* or NULL */
    int64_t m, n, k;
    ingot_epilogue epilogue;
};

/* By simdgroup_matrix, the weights read once for up to 64 rows: whether types, alignment and the
 * device allow it, and it was made. k is split until there are `fill` threadgroups. */
bool igo_quantised_rows(struct igo_call *call, const struct igo_quantised_product *p,
                        uint32_t fill);
/* The same for many rows, on GPUs whose matrix units multiply for four SIMD-groups at once. */
bool igo_quantised_wide(struct igo_call *call, const struct igo_quantised_product *p);

#endif
