/* Quantised weights in double precision, for the references of all that use them. */
#ifndef INGOT_KERNELS_QUANTISE_REFERENCE_H
#define INGOT_KERNELS_QUANTISE_REFERENCE_H

#include "harness/harness.h"

/* Declares slots packed, scales and (biases >= 0) biases with random contents whose numbers are of
 * the order of `size`. */
void igh_quantised_inputs(struct igh_run *run, int packed, int scales, int biases, int64_t n,
                          int64_t k, uint32_t bits, uint32_t group, double size,
                          ingot_scalar_type scale_type);
/* The numbers [n, k] they stand for; malloc'ed. */
double *igh_quantised_values(const struct igh_run *run, int packed, int scales, int biases,
                             int64_t n, int64_t k, uint32_t bits, uint32_t group);
ingot_quantised igh_quantised(const struct igh_run *run, int packed, int scales, int biases,
                              uint32_t bits, uint32_t group);

#endif
