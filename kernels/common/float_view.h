/*
 * Dense float32 views: an operation that computes on dense float32 takes tensors of any float type
 * and any strides. Its igo_library names the copy that converts (`.convert`, kernels/convert's
 * igo_convert), so that this folder depends on no operation.
 *
 *     struct igo_float_view a, x;
 *     igo_view_input(&call, desc->a, &a);     a.tensor is dense float32: desc->a itself, or a copy
 *     igo_view_output(&call, desc->x, &x);    likewise, not yet filled
 *     ... launches that read a.tensor and write x.tensor ...
 *     igo_view_store(&call, &x);              converts back when x.tensor is not desc->x itself
 *     igo_view_release(&call, &a);
 *     igo_view_release(&call, &x);
 */
#ifndef INGOT_KERNELS_COMMON_FLOAT_VIEW_H
#define INGOT_KERNELS_COMMON_FLOAT_VIEW_H

#include "ops/call.h"

struct igo_float_view {
    ingot_tensor tensor;          /* dense float32 of the same shape */
    const ingot_tensor *original; /* NULL: scratch memory only */
    bool copied;                  /* tensor is in scratch memory */
};
bool igo_view_input(struct igo_call *call, const ingot_tensor *original,
                    struct igo_float_view *view);
bool igo_view_output(struct igo_call *call, const ingot_tensor *original,
                     struct igo_float_view *view);
bool igo_view_store(struct igo_call *call, const struct igo_float_view *view);
void igo_view_release(struct igo_call *call, struct igo_float_view *view);

#endif
