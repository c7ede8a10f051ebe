/* Eigenvalues and singular values: eigh and svd. */
#ifndef INGOT_OPS_SPECTRAL_H
#define INGOT_OPS_SPECTRAL_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Symmetric matrices a [..., n, n]: a = vectors * diag(values) * vectors'. The values [..., n] come
 * in ascending order, the vectors [..., n, n] in columns, with orthogonal columns of length 1 and
 * whatever sign comes out (always the same one). Only one triangle of a is read. float32 inside;
 * half types are converted. Errors are of the order of epsilon times the largest eigenvalue. A
 * matrix with a NaN or infinity in the triangle gives NaN throughout. */
typedef struct ingot_eigh_desc {
    const ingot_tensor *a;
    const ingot_tensor *values;
    const ingot_tensor *vectors; /* NULL: values only */
    bool upper;                  /* read the upper triangle, not the lower */
} ingot_eigh_desc;
INGOT_API ingot_status ingot_op_eigh(ingot_ops *ops, ingot_stream *stream,
                                     const ingot_eigh_desc *desc);

/* Reduced singular value decomposition of a [..., m, n]: a = u * diag(s) * vh, with
 * k = min(m, n), u [..., m, k], s [..., k] in descending order, vh [..., k, n]. float32 inside;
 * half types are converted. One-sided Jacobi: where columns (or rows of a wide matrix) differ in
 * scale only, small singular values are as exact, relatively, as large ones; otherwise errors are
 * of the order of epsilon times the largest. A matrix with a NaN or infinity gives NaN throughout.
 */
typedef struct ingot_svd_desc {
    const ingot_tensor *a;
    const ingot_tensor *u; /* u and vh: both or none */
    const ingot_tensor *s;
    const ingot_tensor *vh;
} ingot_svd_desc;
INGOT_API ingot_status ingot_op_svd(ingot_ops *ops, ingot_stream *stream,
                                    const ingot_svd_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
