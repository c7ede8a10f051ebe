/* The host side of what the backward of softmax and of its logarithm have in common: dx from y and
 * dy. */
#ifndef INGOT_KERNELS_COMMON_SOFTMAX_BACKWARD_H
#define INGOT_KERNELS_COMMON_SOFTMAX_BACKWARD_H

#include "ops/rows.h"

struct igo_softmax_backward {
    const ingot_tensor *y, *dy, *dx;
    struct igo_matrix matrix;
    uint64_t y_stride, dy_stride, dx_stride;
};

/* Checks the tensors, and finds the matrix and the strides. False: it has failed, or there is
 * nothing to do. */
bool igo_softmax_backward_begin(struct igo_call *call, struct igo_softmax_backward *backward);
/* One launch: the name of a type is behind the kernel's. */
void igo_softmax_backward_launch(struct igo_call *call, struct igo_softmax_backward *backward,
                                 const char *kernel, const void *args, size_t size);

#endif
