/* The checks that operations make before they encode anything. Each message names the operation,
 * the tensor and both values. */
#include <string.h>

#include "base/scalar.h"
#include "base/text.h"
#include "ops/ops.h"

static void list_types(uint32_t types, struct ig_text *out) {
    for (uint32_t i = 0; i < 32; i++) {
        if (types & 1u << i) {
            ig_text_printf(out, "%s%s", out->size ? ", " : "",
                           ig_scalar_name((ingot_scalar_type)i));
        }
    }
}

static bool check_type(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                       uint32_t types) {
    if (ig_scalar_size(tensor->type) && types & IGO_TYPE(tensor->type)) {
        return true;
    }
    struct ig_text known = {0};
    list_types(types, &known);
    igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has type %s; it may be %s", name,
             ig_scalar_name(tensor->type), ig_text_string(&known));
    ig_text_free(&known);
    return false;
}

static bool check_dimensions(struct igo_call *call, const char *name, const ingot_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0 || tensor->strides[i] < 0) {
            return igo_fail(
                call, INGOT_INVALID_ARGUMENT,
                "%s has %s %lld in dimension %u; it must not be negative", name,
                tensor->shape[i] < 0 ? "extent" : "stride",
                (long long)(tensor->shape[i] < 0 ? tensor->shape[i] : tensor->strides[i]), i);
        }
        if (__builtin_mul_overflow(count, tensor->shape[i], &count)) {
            return igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has more than 2^63 elements", name);
        }
    }
    return true;
}

static bool check_memory(struct igo_call *call, const char *name, const ingot_tensor *tensor) {
    uint64_t first, end, size = ig_scalar_size(tensor->type);
    if (igo_count(tensor) == 0) {
        return true;
    }
    if (!tensor->buffer) {
        return igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has no buffer", name);
    }
    uint64_t length = ingot_buffer_length(tensor->buffer);
    if (!igo_span(tensor, &first, &end) || end > length) {
        return igo_fail(call, INGOT_INVALID_ARGUMENT,
                        "%s ends at byte %llu of a buffer of %llu bytes", name,
                        (unsigned long long)end, (unsigned long long)length);
    }
    if (tensor->offset % size) {
        return igo_fail(call, INGOT_INVALID_ARGUMENT,
                        "%s starts at byte %llu, which is no multiple of its type's %llu bytes",
                        name, (unsigned long long)tensor->offset, (unsigned long long)size);
    }
    return true;
}

bool igo_tensor(struct igo_call *call, const char *name, const ingot_tensor *tensor, uint32_t types,
                uint32_t min_rank, uint32_t max_rank) {
    if (call->failed) {
        return false;
    }
    if (!tensor) {
        return igo_fail(call, INGOT_INVALID_ARGUMENT, "%s is missing", name);
    }
    if (tensor->rank > INGOT_MAX_RANK || tensor->rank < min_rank || tensor->rank > max_rank) {
        return min_rank == max_rank
                   ? igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has %u dimensions; it must have %u",
                              name, tensor->rank, min_rank)
                   : igo_fail(call, INGOT_INVALID_ARGUMENT,
                              "%s has %u dimensions; it must have %u to %u", name, tensor->rank,
                              min_rank, max_rank);
    }
    return check_type(call, name, tensor, types) && check_dimensions(call, name, tensor) &&
           check_memory(call, name, tensor);
}

bool igo_same_type(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                   const char *other_name, const ingot_tensor *other) {
    return IGO_REQUIRE(call, tensor->type == other->type, "%s has type %s, but %s has %s", name,
                       ig_scalar_name(tensor->type), other_name, ig_scalar_name(other->type));
}

bool igo_same_shape(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                    const char *other_name, const ingot_tensor *other) {
    if (call->failed) {
        return false;
    }
    bool same = tensor->rank == other->rank &&
                !memcmp(tensor->shape, other->shape, tensor->rank * sizeof *tensor->shape);
    char a[160], b[160];
    return same || igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has shape %s, but %s has %s", name,
                            igo_shape_text(tensor, a), other_name, igo_shape_text(other, b));
}

bool igo_extent(struct igo_call *call, const char *name, const ingot_tensor *tensor, int dim,
                int64_t extent, const char *meaning) {
    if (call->failed) {
        return false;
    }
    int index = dim < 0 ? (int)tensor->rank + dim : dim;
    char shape[160];
    if (index < 0 || index >= (int)tensor->rank) {
        return igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has shape %s, and no dimension %d", name,
                        igo_shape_text(tensor, shape), dim);
    }
    return tensor->shape[index] == extent ||
           igo_fail(call, INGOT_INVALID_ARGUMENT,
                    "%s has shape %s; dimension %d is %lld, but must be %lld (%s)", name,
                    igo_shape_text(tensor, shape), index, (long long)tensor->shape[index],
                    (long long)extent, meaning);
}

static bool not_dense(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                      const char *how) {
    ingot_tensor strides = *tensor;
    memcpy(strides.shape, tensor->strides, sizeof strides.shape);
    char shape[160], stride[160];
    return igo_fail(call, INGOT_INVALID_ARGUMENT, "%s has shape %s and strides %s; %s", name,
                    igo_shape_text(tensor, shape), igo_shape_text(&strides, stride), how);
}

bool igo_dense(struct igo_call *call, const char *name, const ingot_tensor *tensor) {
    return !call->failed &&
           (igo_is_dense(tensor) ||
            not_dense(call, name, tensor, "it must be contiguous in row-major order"));
}

bool igo_dense_tail(struct igo_call *call, const char *name, const ingot_tensor *tensor,
                    uint32_t dims) {
    return !call->failed &&
           (igo_is_dense_tail(tensor, dims) ||
            not_dense(call, name, tensor,
                      dims == 1 ? "its last dimension must be contiguous"
                                : "its last dimensions must be contiguous in row-major order"));
}

static bool same_view(const ingot_tensor *a, const ingot_tensor *b) {
    bool same = a->offset == b->offset && a->type == b->type && a->rank == b->rank;
    for (uint32_t i = 0; i < a->rank && same; i++) {
        same = a->shape[i] == b->shape[i] && (a->shape[i] == 1 || a->strides[i] == b->strides[i]);
    }
    return same;
}

bool igo_no_overlap(struct igo_call *call, const char *out_name, const ingot_tensor *out,
                    const char *in_name, const ingot_tensor *in, bool in_place) {
    if (call->failed) {
        return false;
    }
    if (!in || !out || !igo_count(in) || !igo_count(out)) {
        return true;
    }
    uint64_t first, end, in_first, in_end, base = ingot_buffer_address(out->buffer),
                                           in_base = ingot_buffer_address(in->buffer);
    igo_span(out, &first, &end);
    igo_span(in, &in_first, &in_end);
    if (base + end <= in_base + in_first || in_base + in_end <= base + first) {
        return true;
    }
    if (in_place && base == in_base && same_view(out, in)) {
        return true;
    }
    return igo_fail(
        call, INGOT_INVALID_ARGUMENT, "%s overlaps %s by %llu bytes%s", out_name, in_name,
        (unsigned long long)((base + end < in_base + in_end ? base + end : in_base + in_end) -
                             (base + first > in_base + in_first ? base + first
                                                                : in_base + in_first)),
        in_place ? "; it may be the same view, or apart from it" : "");
}
