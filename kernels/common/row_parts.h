/* Vectors along the row that are summed over rows, in parts: gradients of weights and biases. */
#ifndef INGOT_KERNELS_COMMON_ROW_PARTS_H
#define INGOT_KERNELS_COMMON_ROW_PARTS_H

#include "ops/rows.h"

/* Where the parts of `out` (a vector along the row) are summed: scratch memory of a row per part,
 * or `out` itself when there is one part and the type is right. All zero when out is NULL. */
ingot_tensor igo_parts_begin(struct igo_call *call, const struct igo_parts *parts,
                             const ingot_tensor *out);
/* Adds the parts up into `out` with row_parts of the library (kernels/common/rows.h), if that is
 * left to do, and releases the memory. */
void igo_parts_end(struct igo_call *call, const struct igo_library *library,
                   const ingot_tensor *partial, const ingot_tensor *out);

#endif
