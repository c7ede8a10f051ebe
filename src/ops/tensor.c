/* Facts about tensors: sizes, layouts, alignment, the bytes they span. */
#include <stdio.h>
#include <string.h>

#include "base/scalar.h"
#include "ops/ops.h"

ingot_tensor ingot_tensor_contiguous(ingot_buffer *buffer, uint64_t offset, ingot_scalar_type type,
                                     uint32_t rank, const int64_t *shape) {
    ingot_tensor tensor = {.buffer = buffer, .offset = offset, .type = type, .rank = rank};
    int64_t stride = 1;
    for (uint32_t i = rank < INGOT_MAX_RANK ? rank : INGOT_MAX_RANK; i-- > 0;) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = stride;
        /* A shape that is too large is refused by the operation that gets it. */
        if (shape[i] > 0 && __builtin_mul_overflow(stride, shape[i], &stride)) {
            stride = INT64_MAX;
        }
    }
    return tensor;
}

int64_t igo_count(const ingot_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        count *= tensor->shape[i];
    }
    return count;
}

static bool dense_from(const ingot_tensor *tensor, uint32_t first) {
    int64_t stride = 1;
    for (uint32_t i = tensor->rank; i-- > first;) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != stride) {
            return false;
        }
        stride *= tensor->shape[i];
    }
    return true;
}

bool igo_is_dense(const ingot_tensor *tensor) {
    return igo_count(tensor) == 0 || dense_from(tensor, 0);
}

bool igo_is_dense_tail(const ingot_tensor *tensor, uint32_t dims) {
    return igo_count(tensor) == 0 ||
           dense_from(tensor, tensor->rank > dims ? tensor->rank - dims : 0);
}

int64_t igo_rows(const ingot_tensor *tensor) {
    int64_t rows = 1;
    for (uint32_t i = 0; i + 1 < tensor->rank; i++) {
        rows *= tensor->shape[i];
    }
    return rows;
}

bool igo_row_stride(const ingot_tensor *tensor, int64_t *stride) {
    int64_t expected = -1;
    *stride = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
    if (tensor->rank && tensor->shape[tensor->rank - 1] > 1 &&
        tensor->strides[tensor->rank - 1] != 1) {
        return false;
    }
    for (uint32_t i = tensor->rank ? tensor->rank - 1 : 0; i-- > 0;) {
        if (tensor->shape[i] == 1) {
            continue;
        }
        if (expected < 0) {
            *stride = tensor->strides[i];
        } else if (tensor->strides[i] != expected) {
            return false;
        }
        expected = tensor->strides[i] * tensor->shape[i];
    }
    return true;
}

bool igo_aligned(const ingot_tensor *tensor, uint32_t bytes) {
    uint64_t size = ig_scalar_size(tensor->type);
    if (tensor->offset % bytes || ingot_buffer_address(tensor->buffer) % bytes) {
        return false;
    }
    for (uint32_t i = 0; i + 1 < tensor->rank; i++) {
        if (tensor->shape[i] > 1 && (uint64_t)tensor->strides[i] * size % bytes) {
            return false;
        }
    }
    return true;
}

const char *igo_type_name(ingot_scalar_type type) {
    return ig_scalar_name(type);
}

const char *igo_shape_text(const ingot_tensor *tensor, char out[160]) {
    size_t at = 0;
    out[at++] = '[';
    for (uint32_t i = 0; i < tensor->rank && i < INGOT_MAX_RANK && at < 130; i++) {
        at += (size_t)snprintf(out + at, 160 - at, "%s%lld", i ? ", " : "",
                               (long long)tensor->shape[i]);
    }
    snprintf(out + at, 160 - at, "]");
    return out;
}

/* The bytes [*first, *end) of the buffer that the elements lie in; false on overflow. A tensor
 * without elements spans nothing. */
bool igo_span(const ingot_tensor *tensor, uint64_t *first, uint64_t *end) {
    uint64_t size = ig_scalar_size(tensor->type), reach = 0;
    *first = *end = tensor->offset;
    if (igo_count(tensor) == 0) {
        return true;
    }
    for (uint32_t i = 0; i < tensor->rank; i++) {
        uint64_t step;
        if (__builtin_mul_overflow((uint64_t)(tensor->shape[i] - 1), (uint64_t)tensor->strides[i],
                                   &step) ||
            __builtin_add_overflow(reach, step, &reach)) {
            return false;
        }
    }
    return !__builtin_add_overflow(reach, 1, &reach) &&
           !__builtin_mul_overflow(reach, size, &reach) &&
           !__builtin_add_overflow(*first, reach, end);
}
