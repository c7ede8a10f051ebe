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

#endif
