/*
 * Linear algebra on batches of matrices: qr, cholesky, lu, solve, triangular solve, least squares.
 *
 * Matrices are the last two dimensions, [..., rows, columns]; the dimensions before them are the
 * batch, the same for all tensors of a call. All float types; computed in float32 and rounded once.
 * Any strides; what is dense float32 is used in place. `info` outputs are int32, dense, of the
 * batch's shape. Finite inputs of any scale give finite results as long as the result itself is
 * representable. Extents up to 2^24.
 */
#ifndef INGOT_OPS_LINALG_H
#define INGOT_OPS_LINALG_H

#include "ingot/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* a = q r by Householder reflections, r upper triangular; the signs of r's diagonal are free. a is
 * [..., m, n]. Reduced: q is [..., m, k], r is [..., k, n], k = min(m, n). Complete: q is
 * [..., m, m], r is [..., m, n]. */
typedef struct ingot_qr_desc {
    const ingot_tensor *a;
    const ingot_tensor *q; /* NULL: only r is wanted */
    const ingot_tensor *r;
    bool complete;
} ingot_qr_desc;
INGOT_API ingot_status ingot_op_qr(ingot_ops *ops, ingot_stream *stream, const ingot_qr_desc *desc);

/* a = l l' (lower) or u' u (upper), for symmetric positive definite a [..., n, n]; one triangle of
 * a is read. The other triangle of `factor` is zero. factor may be a itself. info (optional) is 0,
 * or the number k, from 1, of the first pivot that is not positive; the factor's columns (upper:
 * rows) from k on are then zero. */
typedef struct ingot_cholesky_desc {
    const ingot_tensor *a;
    const ingot_tensor *factor;
    const ingot_tensor *info;
    bool upper;
} ingot_cholesky_desc;
INGOT_API ingot_status ingot_op_cholesky(ingot_ops *ops, ingot_stream *stream,
                                         const ingot_cholesky_desc *desc);

/* p a = l u with partial pivoting, for a [..., m, n]: lu holds u and, below the diagonal, l without
 * its unit diagonal. lu may be a itself. pivots, int32 [..., min(m, n)]: in step i, row i was
 * exchanged with row pivots[i] (from 0). info (optional) is 0, or the number k, from 1, of the
 * first pivot that is exactly zero. */
typedef struct ingot_lu_desc {
    const ingot_tensor *a;
    const ingot_tensor *lu;
    const ingot_tensor *pivots;
    const ingot_tensor *info;
} ingot_lu_desc;
INGOT_API ingot_status ingot_op_lu(ingot_ops *ops, ingot_stream *stream, const ingot_lu_desc *desc);

/* a x = b by lu with partial pivoting: a [..., n, n], b and x [..., n, k] (k >= 0; a vector is k =
 * 1). x may be b itself. info as of lu; where a is singular, x is zero. */
typedef struct ingot_solve_desc {
    const ingot_tensor *a;
    const ingot_tensor *b;
    const ingot_tensor *x;
    const ingot_tensor *info;
} ingot_solve_desc;
INGOT_API ingot_status ingot_op_solve(ingot_ops *ops, ingot_stream *stream,
                                      const ingot_solve_desc *desc);

/* op(a) x = b, or x op(a) = b when `right`; a [..., n, n] lower triangular, or upper; the other
 * triangle is not read. b and x [..., n, k], or [..., k, n] when `right`. x may be b itself. A zero
 * on the diagonal gives infinities or NaN. */
typedef struct ingot_triangular_solve_desc {
    const ingot_tensor *a;
    const ingot_tensor *b;
    const ingot_tensor *x;
    bool upper;
    bool transposed; /* op(a) = a' */
    bool unit;       /* the diagonal counts as 1 and is not read */
    bool right;
} ingot_triangular_solve_desc;
INGOT_API ingot_status ingot_op_triangular_solve(ingot_ops *ops, ingot_stream *stream,
                                                 const ingot_triangular_solve_desc *desc);

/* The x of least norm among those that minimise |a x - b|, for a [..., m, n] of any rank:
 * b [..., m, k], x [..., n, k]. By qr with column pivoting and, where the rank is below n, a
 * complete orthogonal decomposition. Columns of a are not scaled against each other: the rank is
 * the number of diagonal elements of r above rcond times the first. */
typedef struct ingot_lstsq_desc {
    const ingot_tensor *a;
    const ingot_tensor *b;
    const ingot_tensor *x;
    const ingot_tensor *rank; /* optional, int32 of the batch's shape */
    float rcond;              /* 0 = float32's epsilon times max(m, n) */
} ingot_lstsq_desc;
INGOT_API ingot_status ingot_op_lstsq(ingot_ops *ops, ingot_stream *stream,
                                      const ingot_lstsq_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
