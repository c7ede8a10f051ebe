#ifndef INGOT_KERNELS_ROPE_FREQUENCIES_H
#define INGOT_KERNELS_ROPE_FREQUENCIES_H

#include <stdint.h>

/* scale * base^(-i / pairs) / 2 pi for each pair: the part of a turn that a step of one position
 * adds, times 2^64. base is positive; base and scale are such that no frequency reaches 2^62. */
void rope_frequencies(double base, double scale, uint32_t pairs, uint64_t *out);

#endif
