/* Calls of operators: arguments, outputs, and what is held until the call is done. */
#include "python/interrupt.h"

#include "python/torch/frame.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/torch/types.h"

static const ingot_tensor nothing = {.type = INGOT_SCALAR_F32};

int64_t frame_outside(const struct frame *frame, const ingot_tensor *indices, int64_t end,
                      const int64_t *skip, int64_t *first) {
    if (frame->status || !indices->buffer || frame->device_type != torch.device_cpu()) {
        return 0;
    }
    const bool wide = indices->type == INGOT_SCALAR_I64;
    const char *memory = ingot_buffer_contents(indices->buffer);
    if (!memory || (!wide && indices->type != INGOT_SCALAR_I32)) {
        return 0;
    }
    const int64_t *longs = (const int64_t *)(const void *)(memory + indices->offset);
    const int32_t *ints = (const int32_t *)(const void *)(memory + indices->offset);
    const int64_t aside = skip ? *skip : end > 0 ? 0 : INT64_MIN;
    int64_t count = 1, outside = 0;
    uint64_t signs = 0; /* the highest bit: of an index below 0 or above the last */
    const uint64_t most = (uint64_t)end - 1;
    for (uint32_t i = 0; i < indices->rank; i++) {
        count *= indices->shape[i];
    }
    for (int64_t i = 0; i < count && wide; i++) {
        signs |= (uint64_t)longs[i] | (most - (uint64_t)longs[i]);
    }
    for (int64_t i = 0; i < count && !wide; i++) {
        signs |= (uint64_t)(int64_t)ints[i] | (most - (uint64_t)(int64_t)ints[i]);
    }
    if (!(signs >> 63)) {
        return 0;
    }
    for (int64_t i = 0; i < count && wide; i++) {
        outside += ((uint64_t)longs[i] >= (uint64_t)end) & (longs[i] != aside);
    }
    for (int64_t i = 0; i < count && !wide; i++) {
        outside += ((uint64_t)(int64_t)ints[i] >= (uint64_t)end) & (ints[i] != aside);
    }
    for (int64_t i = 0; i < count && outside; i++) {
        *first = wide ? longs[i] : ints[i];
        if ((uint64_t)*first >= (uint64_t)end && *first != aside) {
            break;
        }
    }
    return outside;
}

ingot_status frame_fail(struct frame *frame, ingot_status status, const char *format, ...) {
    if (frame->status) {
        return frame->status;
    }
    frame->status = status;
    int start = snprintf(frame->message, sizeof frame->message, "%s: ", frame->operation->name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(frame->message + start, sizeof frame->message - (size_t)start, format, arguments);
    va_end(arguments);
    return status;
}

/* Takes over the message of a failed call of libingot, under the operator's name instead of that
 * of the operation behind it ("eigh: …" for eigvalsh). */
static void fail_ingot(struct frame *frame, ingot_status status) {
    if (!status || frame->status) {
        return;
    }
    const char *message = ingot_error_message();
    size_t name = strspn(message, "abcdefghijklmnopqrstuvwxyz_");
    if (name && !strncmp(message + name, ": ", 2)) {
        message += name + 2;
    }
    frame_fail(frame, status, "%s", message);
}

static void fail_torch(struct frame *frame, const char *what) {
    const char *why = torch.exception_text ? torch.exception_text() : NULL;
    frame_fail(frame, INGOT_INTERNAL_ERROR, "torch could not %s%s%s", what, why ? ": " : "",
               why ? why : "");
}

static const char *argument_name(const struct frame *frame, uint32_t argument) {
    return frame->operation->arguments[argument].name;
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool choose_device(struct frame *frame, const char *name, int32_t type, int32_t index) {
    if (frame->has_device) {
        if (frame->device_type == type && frame->device_index == index) {
            return true;
        }
        char one[32], other[32];
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s is on device %s, but %s is on %s", name,
                   torch_device_text(type, index, one), frame->device_of,
                   torch_device_text(frame->device_type, frame->device_index, other));
        return false;
    }
    ingot_status status = INGOT_OK;
    if (type == torch.device_cpu()) {
        status = context_cpu(&frame->context);
        if (!status) {
            frame->interruptible = interruptible_enter(frame->context.stream);
        }
    } else if (type == torch.device_cuda() && context_has_cuda()) {
        status = context_torch_cuda(index, &frame->context);
    } else {
        char text[32];
        frame_fail(frame, INGOT_UNSUPPORTED,
                   "%s is on device %s, and ingot's operators run on cpu and cuda only", name,
                   torch_device_text(type, index, text));
        return false;
    }
    if (status) {
        fail_ingot(frame, status);
        return false;
    }
    frame->has_device = true;
    frame->device_type = type;
    frame->device_index = index;
    frame->device_of = name;
    return true;
}

/* ---- describing tensors ---------------------------------------------------------------------- */

/* Wraps the tensor's memory: from its first element to the end of its last. */
static void wrap(struct frame *frame, const char *name, torch_tensor *handle,
                 ingot_tensor *tensor) {
    int64_t last = 0;
    tensor->buffer = NULL;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] == 0) {
            return;
        }
        last += (tensor->shape[i] - 1) * tensor->strides[i];
    }
    void *data = NULL;
    if (torch.get_data(handle, &data) || !data) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s has no memory that can be read", name);
        return;
    }
    uint64_t length = (uint64_t)(last + 1) * torch_scalar_size(tensor->type);
    fail_ingot(frame, ingot_buffer_wrap_address(frame->context.device, (uintptr_t)data, length,
                                                NULL, NULL, &tensor->buffer));
}

/* Storages can be freed or made smaller under their tensors; torch's own copies crash on such. */
static bool has_memory(struct frame *frame, const char *name, torch_tensor *handle,
                       const ingot_tensor *tensor) {
    int64_t last = 0, offset = 0, bytes = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] == 0) {
            return true;
        }
        last += (tensor->shape[i] - 1) * tensor->strides[i];
    }
    void *data = NULL;
    if (torch.get_data(handle, &data) || torch.get_storage_offset(handle, &offset) ||
        torch.get_storage_size(handle, &bytes) || (!data && bytes)) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s has no memory that can be read", name);
        return false;
    }
    int64_t needed = (offset + last + 1) * (int64_t)torch_scalar_size(tensor->type);
    if (data && needed <= bytes) {
        return true;
    }
    frame_fail(frame, INGOT_INVALID_ARGUMENT,
               "%s needs a storage of %lld bytes, but its storage has %lld: it has no memory that "
               "can be read",
               name, (long long)needed, (long long)bytes);
    return false;
}

/* Type, shape and strides, and where it is; nothing to release. */
static bool read_shape(struct frame *frame, const char *name, torch_tensor *handle,
                       ingot_tensor *tensor, int32_t *device_type, int32_t *device_index) {
    int64_t rank = 0, *shape = NULL, *strides = NULL;
    int32_t dtype = 0;
    if (torch.get_rank(handle, &rank) || torch.get_shape(handle, &shape) ||
        torch.get_strides(handle, &strides) || torch.get_dtype(handle, &dtype) ||
        torch.get_device_type(handle, device_type) ||
        torch.get_device_index(handle, device_index)) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s is no ordinary tensor", name);
        return false;
    }
    if (rank > INGOT_MAX_RANK) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s has %lld dimensions; at most %d are possible",
                   name, (long long)rank, INGOT_MAX_RANK);
        return false;
    }
    tensor->buffer = NULL;
    tensor->offset = 0;
    tensor->rank = (uint32_t)rank;
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    memcpy(tensor->strides, strides, (size_t)rank * sizeof *strides);
    tensor->type = torch_to_scalar(dtype);
    if (tensor->type == INGOT_SCALAR_NONE) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "%s has type %s; ingot computes in float32, float16 and bfloat16", name,
                   torch_dtype_text(dtype));
        return false;
    }
    return has_memory(frame, name, handle, tensor);
}

/* The same, and the device is chosen, or checked. */
static bool inspect(struct frame *frame, const char *name, torch_tensor *handle,
                    ingot_tensor *tensor) {
    int32_t type = 0, index = 0;
    return read_shape(frame, name, handle, tensor, &type, &index) &&
           choose_device(frame, name, type, index);
}

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

static bool is_dense(const ingot_tensor *tensor) {
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

static bool layout_fits(const ingot_tensor *tensor, uint32_t layout) {
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
        return is_dense(tensor);
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

static void dense_strides(ingot_tensor *tensor) {
    int64_t stride = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        tensor->strides[i] = stride;
        stride *= tensor->shape[i] ? tensor->shape[i] : 1;
    }
}

/* Strides of dimensions of extent 1, and of tensors without elements, mean nothing in torch;
 * ingot's checks see usual ones. */
static void tidy_strides(ingot_tensor *tensor) {
    int64_t next = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] == 0) {
            dense_strides(tensor);
            return;
        }
        if (tensor->shape[i] == 1) {
            tensor->strides[i] = next;
        }
        next = tensor->strides[i] * tensor->shape[i];
    }
}

static ingot_scalar_type wanted_type(const ingot_tensor *tensor, uint32_t layout) {
    if (layout & AS_I32 && tensor->type == INGOT_SCALAR_I64) {
        return INGOT_SCALAR_I32;
    }
    if (layout & AS_F32 &&
        (tensor->type == INGOT_SCALAR_F16 || tensor->type == INGOT_SCALAR_BF16)) {
        return INGOT_SCALAR_F32;
    }
    return tensor->type;
}

static torch_tensor *allocate_on(struct frame *frame, const ingot_tensor *tensor,
                                 int32_t device_type, int32_t device_index) {
    torch_tensor *handle = NULL;
    if (torch.empty_strided(tensor->rank, tensor->shape, tensor->strides,
                            torch_from_scalar(tensor->type), device_type, device_index, &handle)) {
        fail_torch(frame, "make a tensor");
        return NULL;
    }
    return handle;
}

static torch_tensor *allocate(struct frame *frame, const ingot_tensor *tensor) {
    return allocate_on(frame, tensor, frame->device_type, frame->device_index);
}

/* torch's copy_, which knows every type and layout, unseen by autograd. */
static void copy(struct frame *frame, torch_tensor *to, torch_tensor *from) {
    bool grad = torch.grad_is_enabled();
    if (grad) {
        torch.grad_set_enabled(false);
    }
    if (torch.copy(to, from, 0)) {
        fail_torch(frame, "copy a tensor");
    }
    if (grad) {
        torch.grad_set_enabled(true);
    }
}

/* Keeps `tensor` (or NULL, after a failure) until the frame is closed. */
static torch_tensor *keep(struct frame *frame, torch_tensor *tensor, torch_tensor *original) {
    if (tensor && frame->copy_count == frame->copy_capacity) {
        size_t capacity = frame->copy_capacity ? 2 * frame->copy_capacity : 8;
        frame_copy *grown = realloc(frame->copies, capacity * sizeof *grown);
        if (!grown) {
            frame_fail(frame, INGOT_OUT_OF_MEMORY, "no memory for %zu copies", capacity);
            torch.delete_tensor(tensor);
            return NULL;
        }
        frame->copies = grown;
        frame->copy_capacity = capacity;
    }
    if (tensor) {
        frame->copies[frame->copy_count++] = (frame_copy){tensor, original};
    }
    return tensor;
}

/* A row-major copy of `handle`, which `tensor` describes from then on. NULL on failure. */
static torch_tensor *make_copy(struct frame *frame, torch_tensor *handle, ingot_tensor *tensor,
                               ingot_scalar_type type, bool written) {
    tensor->type = type;
    dense_strides(tensor);
    torch_tensor *temporary = keep(frame, allocate(frame, tensor), written ? handle : NULL);
    if (!temporary) {
        return NULL;
    }
    copy(frame, temporary, handle);
    return frame->status ? NULL : temporary;
}

static _Thread_local struct frame *running;

void *frame_scratch(void *unused, uint64_t bytes) {
    (void)unused;
    if (!running || running->status) {
        return NULL;
    }
    const ingot_tensor tensor = {
        .type = INGOT_SCALAR_U8, .rank = 1, .shape = {(int64_t)bytes}, .strides = {1}};
    torch_tensor *handle = keep(running, allocate(running, &tensor), NULL);
    void *memory = NULL;
    if (handle && torch.get_data(handle, &memory)) {
        fail_torch(running, "say where scratch memory is");
    }
    return memory;
}

static void describe(struct frame *frame, const char *name, torch_tensor *handle, uint32_t layout,
                     bool written, ingot_tensor *tensor) {
    if (!inspect(frame, name, handle, tensor)) {
        return;
    }
    ingot_scalar_type type = wanted_type(tensor, layout);
    if (type != tensor->type || !layout_fits(tensor, layout)) {
        handle = make_copy(frame, handle, tensor, type, written);
        if (!handle) {
            return;
        }
    } else {
        tidy_strides(tensor);
    }
    if (layout & ELEMENTS && tensor->rank == 0) {
        tensor->rank = 1;
        tensor->shape[0] = tensor->strides[0] = 1;
        frame->scalars |= 1u << (tensor - frame->tensors);
    }
    wrap(frame, name, handle, tensor);
}

static const ingot_tensor *take(struct frame *frame, uint32_t argument, uint32_t layout,
                                bool written) {
    if (frame->status) {
        return &nothing;
    }
    ingot_tensor *tensor = &frame->tensors[frame->tensor_count++];
    tensor->buffer = NULL;
    describe(frame, argument_name(frame, argument), (torch_tensor *)frame->values[argument], layout,
             written, tensor);
    return frame->status ? &nothing : tensor;
}

const ingot_tensor *frame_tensor(struct frame *frame, uint32_t argument, uint32_t layout) {
    return take(frame, argument, layout, false);
}

const ingot_tensor *frame_optional(struct frame *frame, uint32_t argument, uint32_t layout) {
    return frame->present[argument] ? take(frame, argument, layout, false) : NULL;
}

const ingot_tensor *frame_matrices(struct frame *frame, uint32_t argument, bool *transposed) {
    *transposed = false;
    if (frame->status) {
        return &nothing;
    }
    ingot_tensor *tensor = &frame->tensors[frame->tensor_count++];
    torch_tensor *handle = (torch_tensor *)frame->values[argument];
    const char *name = argument_name(frame, argument);
    tensor->buffer = NULL;
    if (!inspect(frame, name, handle, tensor)) {
        return &nothing;
    }
    uint32_t row = tensor->rank - 2, column = tensor->rank - 1;
    *transposed = tensor->rank >= 2 && tensor->strides[row] == 1 && tensor->strides[column] != 1 &&
                  tensor->shape[column] != 1;
    if (*transposed) {
        int64_t extent = tensor->shape[row];
        tensor->shape[row] = tensor->shape[column];
        tensor->shape[column] = extent;
        tensor->strides[row] = tensor->strides[column];
        tensor->strides[column] = 1;
        if (layout_fits(tensor, LAYOUT_MATRICES)) {
            tidy_strides(tensor);
            wrap(frame, name, handle, tensor);
            return frame->status ? &nothing : tensor;
        }
        *transposed = false;
    }
    describe(frame, name, handle, LAYOUT_MATRICES, false, tensor);
    return frame->status ? &nothing : tensor;
}

const ingot_tensor *frame_written(struct frame *frame, uint32_t argument, uint32_t layout) {
    return take(frame, argument, layout, true);
}

const ingot_tensor *frame_host(struct frame *frame, uint32_t argument, const void **elements) {
    *elements = NULL;
    if (frame->status) {
        return &nothing;
    }
    torch_tensor *handle = (torch_tensor *)frame->values[argument];
    const char *name = argument_name(frame, argument);
    ingot_tensor *tensor = &frame->tensors[frame->tensor_count++];
    int32_t type = 0, index = 0;
    tensor->buffer = NULL;
    if (!read_shape(frame, name, handle, tensor, &type, &index)) {
        return &nothing;
    }
    if (type != torch.device_cpu()) {
        char text[32];
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "%s is on device %s, but its numbers are read by the host: it must be on cpu",
                   name, torch_device_text(type, index, text));
        return &nothing;
    }
    if (!is_dense(tensor)) {
        dense_strides(tensor);
        torch_tensor *dense = keep(frame, allocate_on(frame, tensor, type, index), NULL);
        if (dense) {
            copy(frame, dense, handle);
        }
        handle = dense;
    }
    if (handle && torch.get_data(handle, (void **)elements)) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s has no memory that can be read", name);
    }
    return frame->status ? &nothing : tensor;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct frame_list *list_of(const struct frame *frame, uint32_t argument) {
    for (uint32_t i = 0; i < frame->list_count; i++) {
        if (frame->lists[i].argument == argument) {
            return &frame->lists[i];
        }
    }
    return NULL;
}

size_t frame_count(const struct frame *frame, uint32_t argument) {
    const struct frame_list *list = list_of(frame, argument);
    return list ? list->count : 0;
}

/* "grads[12]", without the cost of printf: it is made for each tensor of a step. */
static const char *item_name(const struct frame *frame, uint32_t argument, size_t index,
                             char text[48]) {
    char *at = text + 46;
    at[0] = ']';
    at[1] = 0;
    do {
        *--at = (char)('0' + index % 10);
    } while (index /= 10);
    *--at = '[';
    const char *name = argument_name(frame, argument);
    size_t length = strlen(name);
    return memcpy(at - length, name, length);
}

const ingot_tensor *frame_item(struct frame *frame, uint32_t argument, size_t index, bool written,
                               bool any_order) {
    struct frame_list *list = (struct frame_list *)list_of(frame, argument);
    if (frame->status || !list) {
        return &nothing;
    }
    char text[48];
    const char *name = item_name(frame, argument, index, text);
    if (index >= list->count) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s has %zu tensors, and no number %zu",
                   argument_name(frame, argument), list->count, index);
        return &nothing;
    }
    ingot_tensor *tensor = &list->tensors[list->described++];
    tensor->buffer = NULL;
    describe(frame, name, list->handles[index], any_order ? LAYOUT_ANY : LAYOUT_DENSE, written,
             tensor);
    if (frame->has_device && frame->device_of == name) {
        frame->device_of = argument_name(frame, argument);
    }
    if (frame->status) {
        return &nothing;
    }
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        count *= tensor->shape[i];
    }
    tensor->rank = 1;
    tensor->shape[0] = count;
    tensor->strides[0] = 1;
    return tensor;
}

bool frame_items_alike(const struct frame *frame, const uint32_t *arguments, size_t count,
                       size_t index) {
    int64_t rank = 0, first_rank = 0, *shape, *strides, *first_shape = NULL, *first_strides = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct frame_list *list = list_of(frame, arguments[i]);
        if (!list || index >= list->count || torch.get_rank(list->handles[index], &rank) ||
            torch.get_shape(list->handles[index], &shape) ||
            torch.get_strides(list->handles[index], &strides)) {
            return false;
        }
        if (!first_shape) {
            first_rank = rank;
            first_shape = shape;
            first_strides = strides;
        } else if (rank != first_rank || memcmp(shape, first_shape, (size_t)rank * sizeof *shape) ||
                   memcmp(strides, first_strides, (size_t)rank * sizeof *strides)) {
            return false;
        }
    }
    int64_t reach = 0, elements = 1; /* without gaps: the last element is number elements - 1 */
    for (int64_t i = 0; i < first_rank; i++) {
        reach += (first_shape[i] - 1) * first_strides[i];
        elements *= first_shape[i];
        for (int64_t j = 0; j < i; j++) {
            if (first_shape[i] > 1 && first_shape[j] > 1 && first_strides[i] == first_strides[j]) {
                return false;
            }
        }
        if (first_shape[i] > 1 && first_strides[i] == 0) {
            return false;
        }
    }
    return elements > 0 && reach == elements - 1;
}

/* ---- numbers --------------------------------------------------------------------------------- */

double frame_float(const struct frame *frame, uint32_t argument) {
    double value;
    memcpy(&value, &frame->values[argument], sizeof value);
    return value;
}

float frame_nonzero(const struct frame *frame, uint32_t argument) {
    float value = (float)frame_float(frame, argument);
    return value == 0 ? FLT_MIN : value;
}

int64_t frame_int(const struct frame *frame, uint32_t argument) {
    return (int64_t)frame->values[argument];
}

uint32_t frame_u32(struct frame *frame, uint32_t argument) {
    int64_t value = frame_int(frame, argument);
    if (value >= 0 && value <= INT32_MAX) {
        return (uint32_t)value;
    }
    frame_fail(frame, INGOT_INVALID_ARGUMENT, "%s is %lld; it must be 0 to %d",
               argument_name(frame, argument), (long long)value, INT32_MAX);
    return 0;
}

bool frame_optional_int(const struct frame *frame, uint32_t argument, int64_t *value) {
    *value = frame->present[argument] ? (int64_t)frame->values[argument] : 0;
    return frame->present[argument];
}

bool frame_bool(const struct frame *frame, uint32_t argument) {
    return (frame->values[argument] & 0xff) != 0; /* the bytes above are not set by every torch */
}

ingot_scalar_type frame_dtype(struct frame *frame, uint32_t argument) {
    int32_t dtype = (int32_t)(uint32_t)frame->values[argument];
    ingot_scalar_type type = torch_to_scalar(dtype);
    if (type == INGOT_SCALAR_NONE) {
        frame_fail(frame, INGOT_INVALID_ARGUMENT,
                   "%s is %s; ingot computes in float32, float16 and bfloat16",
                   argument_name(frame, argument), torch_dtype_text(dtype));
    }
    return type;
}

int64_t frame_extent(const ingot_tensor *tensor, int dimension) {
    int index = dimension < 0 ? (int)tensor->rank + dimension : dimension;
    return index < 0 || index >= (int)tensor->rank ? 1 : tensor->shape[index];
}

/* ---- outputs --------------------------------------------------------------------------------- */

static const ingot_tensor *make_output(struct frame *frame, uint32_t output, ingot_scalar_type type,
                                       uint32_t rank, const int64_t *shape, bool scalar) {
    if (frame->status ||
        (!frame->has_device && !choose_device(frame, "the output", torch.device_cpu(), -1))) {
        return &nothing;
    }
    ingot_tensor *tensor = &frame->tensors[frame->tensor_count++];
    tensor->buffer = NULL;
    tensor->offset = 0;
    tensor->type = type;
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
    }
    dense_strides(tensor);
    tensor->rank = scalar ? 0 : rank;
    frame->outputs[output] = allocate(frame, tensor);
    tensor->rank = rank;
    if (frame->outputs[output]) {
        wrap(frame, "an output", frame->outputs[output], tensor);
    }
    return frame->status ? &nothing : tensor;
}

const ingot_tensor *frame_output(struct frame *frame, uint32_t output, ingot_scalar_type type,
                                 uint32_t rank, const int64_t *shape) {
    return make_output(frame, output, type, rank, shape, false);
}

const ingot_tensor *frame_like(struct frame *frame, uint32_t output, const ingot_tensor *model) {
    if (frame->status) {
        return &nothing;
    }
    bool scalar = frame->scalars >> (model - frame->tensors) & 1;
    return make_output(frame, output, model->type, model->rank, model->shape, scalar);
}

const ingot_tensor *frame_absent(struct frame *frame, uint32_t output, ingot_scalar_type type) {
    frame_output(frame, output, type, 1, (const int64_t[]){0});
    return NULL;
}

const ingot_tensor *frame_like_optional(struct frame *frame, uint32_t output,
                                        const ingot_tensor *model, ingot_scalar_type absent_type) {
    return model ? frame_like(frame, output, model) : frame_absent(frame, output, absent_type);
}

/* ---- the call ---------------------------------------------------------------------------- */

bool torch_unbox(torch_value *value) {
    torch_value *box = (torch_value *)*value;
    if (!box) {
        return false;
    }
    *value = *box;
    if (torch.delete_value) {
        torch.delete_value(box);
    } else {
        torch.operator_delete(box);
    }
    return true;
}

struct frame_list *frame_add_list(struct frame *frame, uint32_t argument, size_t count) {
    struct frame_list *list = &frame->lists[frame->list_count++];
    *list = (struct frame_list){.argument = argument};
    list->handles = malloc((count ? count : 1) * sizeof *list->handles);
    list->tensors = malloc((count ? count : 1) * sizeof *list->tensors);
    if (list->handles && list->tensors) {
        return list;
    }
    frame_fail(frame, INGOT_OUT_OF_MEMORY, "no memory for a list of %zu tensors", count);
    return NULL;
}

static void open_list(struct frame *frame, uint32_t argument) {
    torch_list *elements = (torch_list *)frame->values[argument];
    size_t count = 0;
    torch.list_size(elements, &count);
    struct frame_list *list = frame_add_list(frame, argument, count);
    for (size_t i = 0; i < count; i++) {
        torch_value element = 0;
        torch.list_get(elements, i, &element);
        if (list) {
            list->handles[list->count++] = (torch_tensor *)element;
        } else {
            torch.delete_tensor((torch_tensor *)element);
        }
    }
    torch.delete_list(elements);
}

void frame_begin(struct frame *frame, const struct operation *operation) {
    frame->operation = operation;
    frame->status = INGOT_OK;
    frame->borrows = frame->interruptible = frame->has_device = false;
    frame->tensor_count = frame->list_count = frame->scalars = 0;
    frame->copies = NULL;
    frame->copy_count = frame->copy_capacity = 0;
    memset(frame->values, 0, sizeof frame->values);
    memset(frame->present, 0, sizeof frame->present);
    memset(frame->outputs, 0, sizeof frame->outputs);
}

void frame_open(struct frame *frame, const struct operation *operation, const torch_value *stack) {
    frame_begin(frame, operation);
    for (uint32_t i = 0; i < operation->argument_count; i++) {
        frame->values[i] = stack[i];
        switch (operation->arguments[i].kind) {
        case ARGUMENT_OPTIONAL_TENSOR:
        case ARGUMENT_OPTIONAL_INT:
            frame->present[i] = torch_unbox(&frame->values[i]);
            break;
        case ARGUMENT_TENSOR_LIST:
            open_list(frame, i);
            break;
        default:
            break;
        }
    }
}

void frame_run(struct frame *frame) {
    if (!frame->status) {
        running = frame;
        fail_ingot(frame, frame->operation->run(frame));
        running = NULL;
    }
    if (frame->has_device && frame->device_type == torch.device_cpu()) {
        /* also after a failure: some of its work may be under way */
        fail_ingot(frame, ingot_stream_wait(frame->context.stream));
    }
    if (frame->interruptible) {
        interruptible_leave();
    }
    for (size_t i = 0; i < frame->copy_count && !frame->status; i++) {
        if (frame->copies[i].original) {
            copy(frame, frame->copies[i].original, frame->copies[i].tensor);
        }
    }
}

void frame_close(struct frame *frame, torch_value *stack) {
    const struct operation *operation = frame->operation;
    for (uint32_t i = 0; i < frame->tensor_count; i++) {
        ingot_buffer_release(frame->tensors[i].buffer);
    }
    for (uint32_t i = 0; i < frame->list_count; i++) {
        struct frame_list *list = &frame->lists[i];
        for (size_t j = 0; j < list->described; j++) {
            ingot_buffer_release(list->tensors[j].buffer);
        }
        for (size_t j = 0; j < list->count; j++) {
            torch.delete_tensor(list->handles[j]);
        }
        free(list->handles);
        free(list->tensors);
    }
    for (size_t i = 0; i < frame->copy_count; i++) {
        torch.delete_tensor(frame->copies[i].tensor);
    }
    free(frame->copies);
    if (frame->has_device) {
        context_done(&frame->context);
    }
    for (uint32_t i = 0; i < operation->argument_count && !frame->borrows; i++) {
        if ((operation->arguments[i].kind == ARGUMENT_TENSOR ||
             operation->arguments[i].kind == ARGUMENT_OPTIONAL_TENSOR) &&
            frame->values[i]) {
            torch.delete_tensor((torch_tensor *)frame->values[i]);
        }
    }
    for (uint32_t i = 0; i < operation->output_count; i++) {
        if (!frame->status) {
            stack[i] = (torch_value)frame->outputs[i];
        } else if (frame->outputs[i]) {
            torch.delete_tensor(frame->outputs[i]);
        }
    }
}
