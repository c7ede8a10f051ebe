/* Copies with conversion, as steps of another operation's call. Operations on dense float32 reach
 * them through the views of common/float_view.h. */
#ifndef INGOT_KERNELS_CONVERT_H
#define INGOT_KERNELS_CONVERT_H

#include "ops/call.h"

extern const struct igo_library igo_library_convert;

/* to = from, rounded to to's type. Same shape, float types, no memory in common; the caller has
 * checked both. Does nothing when the call has failed or the tensors are empty. */
bool igo_convert(struct igo_call *call, const ingot_tensor *from, const ingot_tensor *to);

#endif
