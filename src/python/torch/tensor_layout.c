/* Shapes and strides of ingot's tensors, against what operators ask for. */
#include "python/torch/tensor_layout.h"

/* One stride over the dimensions [0, count): true also where there is nothing to walk. */
static bool one_stride(const ingot_tensor *tensor, uint32_t count) {
    int64_t expected = -1;
    for (uint32_t i = count; i-- > 0;) {
        if (tensor->shape[i] == 1) {
            continue;
        }
        if (expected >= 0 && tensor->strides[i] != expected) {
            return false;
        }
        expected = tensor->strides[i] * tensor->shape[i];
    }
    return true;
}

bool tensor_is_dense(const ingot_tensor *tensor) {
    int64_t expected = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] == 1) {
            continue;
        }
        if (tensor->strides[i] != expected) {
            return false;
        }
        expected *= tensor->shape[i];
    }
    return true;
}

bool tensor_fits_layout(const ingot_tensor *tensor, uint32_t layout) {
    uint32_t rank = tensor->rank;
    layout &= LAYOUT_SHAPE;
    if (layout == LAYOUT_ANY || rank == 0) {
        return true;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (tensor->shape[i] == 0) {
            return true;
        }
    }
    if (layout == LAYOUT_DENSE) {
        return tensor_is_dense(tensor);
    }
    if (tensor->strides[rank - 1] != 1 && tensor->shape[rank - 1] != 1) {
        return false;
    }
    if (layout == LAYOUT_ROWS) {
        return one_stride(tensor, rank - 1);
    }
    if (layout == LAYOUT_MATRICES) {
        return one_stride(tensor, rank < 2 ? 0 : rank - 2);
    }
    return true;
}

void tensor_set_dense_strides(ingot_tensor *tensor) {
    int64_t stride = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        tensor->strides[i] = stride;
        stride *= tensor->shape[i] ? tensor->shape[i] : 1;
    }
}

void tensor_tidy_strides(ingot_tensor *tensor) {
    int64_t next = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] == 0) {
            tensor_set_dense_strides(tensor);
            return;
        }
        if (tensor->shape[i] == 1) {
            tensor->strides[i] = next;
        }
        next = tensor->strides[i] * tensor->shape[i];
    }
}

ingot_scalar_type layout_type(const ingot_tensor *tensor, uint32_t layout) {
    if (layout & AS_I32 && tensor->type == INGOT_SCALAR_I64) {
        return INGOT_SCALAR_I32;
    }
    if (layout & AS_F32 &&
        (tensor->type == INGOT_SCALAR_F16 || tensor->type == INGOT_SCALAR_BF16)) {
        return INGOT_SCALAR_F32;
    }
    return tensor->type;
}

int64_t tensor_extent(const ingot_tensor *tensor, int dimension) {
    int index = dimension < 0 ? (int)tensor->rank + dimension : dimension;
    return index < 0 || index >= (int)tensor->rank ? 1 : tensor->shape[index];
}
