/* Quantised weights in double precision, for the references of all that use them. */
#ifndef INGOT_KERNELS_QUANTISE_REFERENCE_H
#define INGOT_KERNELS_QUANTISE_REFERENCE_H

#include "harness/harness.h"

/* Weights [n, k] as slots of a run. */
struct igh_quantised_slots {
    int packed, scales, biases; /* biases < 0: there are none */
    int64_t n, k;
    uint32_t bits, group;
};

/* Those of a case: `first` is the slot of the packed weights, scales and biases follow, and `n` has
 * n, k, bits, group, and whether there are biases. */
struct igh_quantised_slots igh_quantised_at(int first, const int64_t *n);
/* Declares the slots with random contents whose numbers are of the order of 1, scales and biases of
 * the run's type. */
void igh_quantised_inputs(struct igh_run *run, struct igh_quantised_slots slots);
/* The numbers [n, k] they stand for; malloc'ed. */
double *igh_quantised_values(const struct igh_run *run, struct igh_quantised_slots slots);
/* As an operation takes them. */
ingot_quantised igh_quantised(const struct igh_run *run, struct igh_quantised_slots slots);

#endif
