/* What the host code of eigh and svd shares. */
#ifndef INGOT_KERNELS_SPECTRUM_H
#define INGOT_KERNELS_SPECTRUM_H

#include "ops/call.h"

/* Eigenvalues or singular values: [..., extent], with the batch and type of `a`, distinct elements
 * and no memory in common with it. `meaning` says what the extent is. */
bool igo_spectrum(struct igo_call *call, const char *name, const ingot_tensor *t,
                  const ingot_tensor *a, int64_t extent, const char *meaning);

/* The steps of eigh as part of another operation's call: `count` dense float32 matrices of n by n,
 * with n > 64, whose lower triangle is read. All tensors are the caller's own. */
void igo_eigh(struct igo_call *call, uint32_t n, uint64_t count, const ingot_tensor *a,
              const ingot_tensor *values, const ingot_tensor *vectors);

#endif
