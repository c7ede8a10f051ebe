#ifndef INGOT_KERNELS_SVD_REFERENCE_H
#define INGOT_KERNELS_SVD_REFERENCE_H

#include <stdint.h>

/* Singular values, in descending order, of a matrix whose `count` columns are the rows of a, each
 * `length` long; a is overwritten. */
void igh_singular_values(double *a, int64_t count, int64_t length, double *values);

#endif
