/* Tensors that kernels take as parameters: a description of memory that a buffer has. */
#include <string.h>

#include "runtime/objects.h"

ingot_status ingot_tensor_argument_of(const ingot_buffer *buffer, uint64_t offset, uint32_t rank,
                                      const int64_t *extents, const int64_t *strides,
                                      ingot_tensor_argument *tensor) {
    if (!buffer || !extents || !tensor) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT, "ingot_tensor_argument_of: %s is NULL",
                           !buffer    ? "buffer"
                           : !extents ? "extents"
                                      : "tensor");
    }
    if (rank < 1 || rank > INGOT_TENSOR_RANK) {
        return ig_api_fail(INGOT_INVALID_ARGUMENT,
                           "ingot_tensor_argument_of: a tensor of rank %u; 1 to %d are possible",
                           rank, INGOT_TENSOR_RANK);
    }
    if (offset > ingot_buffer_length(buffer)) {
        return ig_api_fail(
            INGOT_INVALID_ARGUMENT,
            "ingot_tensor_argument_of: offset %llu is beyond the buffer of %llu bytes",
            (unsigned long long)offset, (unsigned long long)ingot_buffer_length(buffer));
    }
    int64_t stride = 1;
    memset(tensor, 0, sizeof *tensor);
    tensor->address = ingot_buffer_address(buffer) + offset;
    for (uint32_t r = 0; r < rank; r++) {
        if (extents[r] < 0) {
            return ig_api_fail(INGOT_INVALID_ARGUMENT,
                               "ingot_tensor_argument_of: extent %u is %lld, and less than 0", r,
                               (long long)extents[r]);
        }
        tensor->extents[r] = extents[r];
        tensor->strides[r] = strides ? strides[r] : stride;
        if (!strides && __builtin_mul_overflow(stride, extents[r], &stride)) {
            return ig_api_fail(
                INGOT_INVALID_ARGUMENT,
                "ingot_tensor_argument_of: the extents up to %u have more than 2^63 elements", r);
        }
    }
    return INGOT_OK;
}
