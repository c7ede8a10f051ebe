#ifndef INGOT_KERNELS_EIGH_REFERENCE_H
#define INGOT_KERNELS_EIGH_REFERENCE_H

#include <stdint.h>

/* Eigenvalues of a symmetric matrix in ascending order; a is overwritten. */
void igh_symmetric_eigenvalues(double *a, int64_t n, double *values);

#endif
