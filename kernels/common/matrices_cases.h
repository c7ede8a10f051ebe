/* Matrices for the cases of linear algebra, and what is measured on results. Double precision,
 * dense row-major. */
#ifndef INGOT_KERNELS_COMMON_MATRICES_CASES_H
#define INGOT_KERNELS_COMMON_MATRICES_CASES_H

#include "harness/harness.h"

enum igh_matrix_kind {
    IGH_MATRIX_NORMAL,
    IGH_MATRIX_LOW_RANK, /* half the rank that the shape allows, rounded up */
    IGH_MATRIX_GRADED,   /* columns from 1e-8 to 1e8 */
    IGH_MATRIX_TINY,     /* around 1e-30 */
    IGH_MATRIX_HUGE,     /* around 1e30 */
    IGH_MATRIX_MIXED,    /* columns of 1e30, 1 and 1e-30 in turn */
    IGH_MATRIX_ZERO,     /* all of it */
    IGH_MATRIX_ONES,     /* rank 1 */
    IGH_MATRIX_IDENTITY,
    IGH_MATRIX_ZERO_COLUMNS, /* every third column */
    IGH_MATRIX_HILBERT,      /* 1 / (i + j + 1): nearly singular */
    IGH_MATRIX_POSITIVE,     /* symmetric positive definite, condition about 100 */
    IGH_MATRIX_DIAGONAL,     /* normal, with a diagonal that dominates */
};
const char *igh_matrix_kind_name(enum igh_matrix_kind kind);

/* Declares slot as an input [batch, rows, columns] with matrices of the kind (rank 2 when batch is
 * negative). */
void igh_matrix_input(struct igh_run *run, int slot, const char *name, int64_t batch, int64_t rows,
                      int64_t columns, enum igh_matrix_kind kind);

/* From matrix to matrix, in elements: the second begins past 2^31. */
#define IGH_MATRIX_FAR (((int64_t)1 << 31) + 5)

/* c = a b, or a' b with `transposed`; a is rows x inner (inner x rows), b inner x columns. */
void igh_matrix_multiply(const double *a, const double *b, double *c, int64_t rows, int64_t inner,
                         int64_t columns, bool transposed);
/* Largest |q'q - 1| element. */
double igh_matrix_orthogonality(const double *q, int64_t rows, int64_t columns);
/* The largest over columns of |a - b| / |a|, in the norm of 2; where |a| is 0, of |b|. */
double igh_matrix_column_error(const double *a, const double *b, int64_t rows, int64_t columns);
/* |a - b| / |a| in the norm of Frobenius. */
double igh_matrix_error(const double *a, const double *b, int64_t count);
double igh_matrix_norm(const double *a, int64_t count);
/* 1e-5 sqrt(n), plus what rounding to the run's type may add. */
double igh_matrix_bound(const struct igh_run *run, int64_t n);

#endif
