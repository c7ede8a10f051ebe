/* Checks of operations on elements, one by one. */
#include "ops/elementwise.h"

bool igo_no_self_overlap(struct igo_call *call, const char *name, const ingot_tensor *tensor) {
    if (call->failed) {
        return false;
    }
    uint32_t order[INGOT_MAX_RANK], count = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) { /* narrowest stride first */
        if (tensor->shape[i] <= 1) {
            continue;
        }
        uint32_t at = count++;
        for (; at && tensor->strides[order[at - 1]] > tensor->strides[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    int64_t reach = 0; /* of the dimensions so far, less one element */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = order[i];
        if (tensor->strides[dim] <= reach) {
            return igo_fail(call, INGOT_INVALID_ARGUMENT,
                            "%s has stride %lld in dimension %u, but %lld elements of other "
                            "dimensions lie between; what is written must not overlap itself",
                            name, (long long)tensor->strides[dim], dim, (long long)reach + 1);
        }
        reach += tensor->strides[dim] * (tensor->shape[dim] - 1);
    }
    return true;
}
