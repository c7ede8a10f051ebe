/* Calls of operators: arguments, outputs, and what is held until the call is done. */
#include "python/interrupt.h"

#include "python/torch/operator_call.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/torch/mps_device.h"
#include "python/torch/tensor_layout.h"
#include "python/torch/types.h"

static const ingot_tensor nothing = {.type = INGOT_SCALAR_F32};

ingot_status operator_call_fail(struct operator_call *call, ingot_status status, const char *format,
                                ...) {
    if (call->status) {
        return call->status;
    }
    call->status = status;
    int start = snprintf(call->message, sizeof call->message, "%s: ", call->op->name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->message + start, sizeof call->message - (size_t)start, format, arguments);
    va_end(arguments);
    return status;
}

/* Takes over the message of a failed call of libingot, under the operator's name instead of that
 * of the operation behind it ("eigh: …" for eigvalsh). */
static void fail_ingot(struct operator_call *call, ingot_status status) {
    if (!status || call->status) {
        return;
    }
    const char *message = ingot_error_message();
    size_t name = strspn(message, "abcdefghijklmnopqrstuvwxyz_");
    if (name && !strncmp(message + name, ": ", 2)) {
        message += name + 2;
    }
    operator_call_fail(call, status, "%s", message);
}

static void fail_torch(struct operator_call *call, const char *what) {
    const char *why = torch.exception_text ? torch.exception_text() : NULL;
    operator_call_fail(call, INGOT_INTERNAL_ERROR, "torch could not %s%s%s", what, why ? ": " : "",
                       why ? why : "");
}

static const char *argument_name(const struct operator_call *call, uint32_t argument) {
    return call->op->arguments[argument].name;
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool is_mps(int32_t type) {
    return torch.device_mps && type == torch.device_mps() && mps_device_is_loaded();
}

static bool choose_device(struct operator_call *call, const char *name, int32_t type,
                          int32_t index) {
    if (call->has_device) {
        if (call->device_type == type && call->device_index == index) {
            return true;
        }
        char one[32], other[32];
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s is on device %s, but %s is on %s",
                           name, torch_device_text(type, index, one), call->device_of,
                           torch_device_text(call->device_type, call->device_index, other));
        return false;
    }
    ingot_status status = INGOT_OK;
    if (type == torch.device_cpu()) {
        status = context_cpu(&call->context);
        if (!status) {
            call->interruptible = interruptible_enter(call->context.stream);
        }
    } else if (type == torch.device_cuda() && context_has_cuda()) {
        status = context_torch_cuda(index, &call->context);
    } else if (is_mps(type)) {
        status = mps_device_context(&call->context);
    } else {
        char text[32];
        operator_call_fail(call, INGOT_UNSUPPORTED,
                           "%s is on device %s, and ingot's operators run on cpu%s only", name,
                           torch_device_text(type, index, text),
                           mps_device_is_loaded() ? " and mps" : " and cuda");
        return false;
    }
    if (status) {
        fail_ingot(call, status);
        return false;
    }
    call->has_device = true;
    call->device_type = type;
    call->device_index = index;
    call->device_of = name;
    return true;
}

/* ---- describing tensors ---------------------------------------------------------------------- */

/* Wraps the tensor's memory: from its first element to the end of its last. */
static void wrap(struct operator_call *call, const char *name, torch_tensor *handle,
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
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s has no memory that can be read", name);
        return;
    }
    uint64_t length = (uint64_t)(last + 1) * torch_scalar_size(tensor->type);
    if (is_mps(call->device_type)) {
        int64_t offset = 0;
        torch.get_storage_offset(handle, &offset);
        fail_ingot(call, mps_device_wrap(&call->context, data,
                                         (uint64_t)offset * torch_scalar_size(tensor->type), length,
                                         &tensor->buffer));
        return;
    }
    fail_ingot(call, ingot_buffer_wrap_address(call->context.device, (uintptr_t)data, length, NULL,
                                               NULL, &tensor->buffer));
}

/* Storages can be freed or made smaller under their tensors; torch's own copies crash on such. */
static bool has_memory(struct operator_call *call, const char *name, torch_tensor *handle,
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
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s has no memory that can be read", name);
        return false;
    }
    int64_t needed = (offset + last + 1) * (int64_t)torch_scalar_size(tensor->type);
    if (data && needed <= bytes) {
        return true;
    }
    operator_call_fail(
        call, INGOT_INVALID_ARGUMENT,
        "%s needs a storage of %lld bytes, but its storage has %lld: it has no memory that "
        "can be read",
        name, (long long)needed, (long long)bytes);
    return false;
}

/* Type, shape and strides, and where it is; nothing to release. */
static bool read_shape(struct operator_call *call, const char *name, torch_tensor *handle,
                       ingot_tensor *tensor, int32_t *device_type, int32_t *device_index) {
    int64_t rank = 0, *shape = NULL, *strides = NULL;
    int32_t dtype = 0;
    if (torch.get_rank(handle, &rank) || torch.get_shape(handle, &shape) ||
        torch.get_strides(handle, &strides) || torch.get_dtype(handle, &dtype) ||
        torch.get_device_type(handle, device_type) ||
        torch.get_device_index(handle, device_index)) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s is no ordinary tensor", name);
        return false;
    }
    if (rank > INGOT_MAX_RANK) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                           "%s has %lld dimensions; at most %d are possible", name, (long long)rank,
                           INGOT_MAX_RANK);
        return false;
    }
    tensor->buffer = NULL;
    tensor->offset = 0;
    tensor->rank = (uint32_t)rank;
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    memcpy(tensor->strides, strides, (size_t)rank * sizeof *strides);
    tensor->type = torch_to_scalar(dtype);
    if (tensor->type == INGOT_SCALAR_NONE) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                           "%s has type %s; ingot computes in float32, float16 and bfloat16", name,
                           torch_dtype_text(dtype));
        return false;
    }
    return has_memory(call, name, handle, tensor);
}

/* The same, and the device is chosen, or checked. */
static bool inspect(struct operator_call *call, const char *name, torch_tensor *handle,
                    ingot_tensor *tensor) {
    int32_t type = 0, index = 0;
    return read_shape(call, name, handle, tensor, &type, &index) &&
           choose_device(call, name, type, index);
}

static torch_tensor *allocate_on(struct operator_call *call, const ingot_tensor *tensor,
                                 int32_t device_type, int32_t device_index) {
    torch_tensor *handle = NULL;
    if (torch.empty_strided(tensor->rank, tensor->shape, tensor->strides,
                            torch_from_scalar(tensor->type), device_type, device_index, &handle)) {
        fail_torch(call, "make a tensor");
        return NULL;
    }
    return handle;
}

static torch_tensor *allocate(struct operator_call *call, const ingot_tensor *tensor) {
    return allocate_on(call, tensor, call->device_type, call->device_index);
}

/* torch's copy_, which knows every type and layout, unseen by autograd. */
static void copy(struct operator_call *call, torch_tensor *to, torch_tensor *from) {
    bool grad = torch.grad_is_enabled();
    if (grad) {
        torch.grad_set_enabled(false);
    }
    if (torch.copy(to, from, 0)) {
        fail_torch(call, "copy a tensor");
    }
    if (grad) {
        torch.grad_set_enabled(true);
    }
}

/* Keeps `tensor` (or NULL, after a failure) until the call is closed. */
static torch_tensor *keep(struct operator_call *call, torch_tensor *tensor,
                          torch_tensor *original) {
    if (tensor && call->copy_count == call->copy_capacity) {
        size_t capacity = call->copy_capacity ? 2 * call->copy_capacity : 8;
        operator_call_copy *grown = realloc(call->copies, capacity * sizeof *grown);
        if (!grown) {
            operator_call_fail(call, INGOT_OUT_OF_MEMORY, "no memory for %zu copies", capacity);
            torch.delete_tensor(tensor);
            return NULL;
        }
        call->copies = grown;
        call->copy_capacity = capacity;
    }
    if (tensor) {
        call->copies[call->copy_count++] = (operator_call_copy){tensor, original};
    }
    return tensor;
}

/* A row-major copy of `handle`, which `tensor` describes from then on. NULL on failure. */
static torch_tensor *make_copy(struct operator_call *call, torch_tensor *handle,
                               ingot_tensor *tensor, ingot_scalar_type type, bool written) {
    tensor->type = type;
    tensor_set_dense_strides(tensor);
    torch_tensor *temporary = keep(call, allocate(call, tensor), written ? handle : NULL);
    if (!temporary) {
        return NULL;
    }
    copy(call, temporary, handle);
    return call->status ? NULL : temporary;
}

static _Thread_local struct operator_call *running;

void *operator_call_scratch(void *unused, uint64_t bytes) {
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

static void describe(struct operator_call *call, const char *name, torch_tensor *handle,
                     uint32_t layout, bool written, ingot_tensor *tensor) {
    if (!inspect(call, name, handle, tensor)) {
        return;
    }
    ingot_scalar_type type = layout_type(tensor, layout);
    if (type != tensor->type || !tensor_fits_layout(tensor, layout)) {
        handle = make_copy(call, handle, tensor, type, written);
        if (!handle) {
            return;
        }
    } else {
        tensor_tidy_strides(tensor);
    }
    if (layout & RANK_0_AS_1 && tensor->rank == 0) {
        tensor->rank = 1;
        tensor->shape[0] = tensor->strides[0] = 1;
        call->scalars |= 1u << (tensor - call->tensors);
    }
    wrap(call, name, handle, tensor);
}

static const ingot_tensor *take(struct operator_call *call, uint32_t argument, uint32_t layout,
                                bool written) {
    if (call->status) {
        return &nothing;
    }
    ingot_tensor *tensor = &call->tensors[call->tensor_count++];
    tensor->buffer = NULL;
    describe(call, argument_name(call, argument), (torch_tensor *)call->values[argument], layout,
             written, tensor);
    return call->status ? &nothing : tensor;
}

const ingot_tensor *argument_tensor(struct operator_call *call, uint32_t argument,
                                    uint32_t layout) {
    return take(call, argument, layout, false);
}

const ingot_tensor *argument_optional_tensor(struct operator_call *call, uint32_t argument,
                                             uint32_t layout) {
    return call->present[argument] ? take(call, argument, layout, false) : NULL;
}

const ingot_tensor *argument_matrices(struct operator_call *call, uint32_t argument,
                                      bool *transposed) {
    *transposed = false;
    if (call->status) {
        return &nothing;
    }
    ingot_tensor *tensor = &call->tensors[call->tensor_count++];
    torch_tensor *handle = (torch_tensor *)call->values[argument];
    const char *name = argument_name(call, argument);
    tensor->buffer = NULL;
    if (!inspect(call, name, handle, tensor)) {
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
        if (tensor_fits_layout(tensor, LAYOUT_MATRICES)) {
            tensor_tidy_strides(tensor);
            wrap(call, name, handle, tensor);
            return call->status ? &nothing : tensor;
        }
        *transposed = false;
    }
    describe(call, name, handle, LAYOUT_MATRICES, false, tensor);
    return call->status ? &nothing : tensor;
}

const ingot_tensor *argument_written_tensor(struct operator_call *call, uint32_t argument,
                                            uint32_t layout) {
    return take(call, argument, layout, true);
}

const ingot_tensor *argument_on_host(struct operator_call *call, uint32_t argument,
                                     const void **elements) {
    *elements = NULL;
    if (call->status) {
        return &nothing;
    }
    torch_tensor *handle = (torch_tensor *)call->values[argument];
    const char *name = argument_name(call, argument);
    ingot_tensor *tensor = &call->tensors[call->tensor_count++];
    int32_t type = 0, index = 0;
    tensor->buffer = NULL;
    if (!read_shape(call, name, handle, tensor, &type, &index)) {
        return &nothing;
    }
    if (type != torch.device_cpu()) {
        char text[32];
        operator_call_fail(
            call, INGOT_INVALID_ARGUMENT,
            "%s is on device %s, but its numbers are read by the host: it must be on cpu", name,
            torch_device_text(type, index, text));
        return &nothing;
    }
    if (!tensor_is_dense(tensor)) {
        tensor_set_dense_strides(tensor);
        torch_tensor *dense = keep(call, allocate_on(call, tensor, type, index), NULL);
        if (dense) {
            copy(call, dense, handle);
        }
        handle = dense;
    }
    if (handle && torch.get_data(handle, (void **)elements)) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s has no memory that can be read", name);
    }
    return call->status ? &nothing : tensor;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct operator_call_list *list_of(const struct operator_call *call,
                                                uint32_t argument) {
    for (uint32_t i = 0; i < call->list_count; i++) {
        if (call->lists[i].argument == argument) {
            return &call->lists[i];
        }
    }
    return NULL;
}

size_t argument_list_length(const struct operator_call *call, uint32_t argument) {
    const struct operator_call_list *list = list_of(call, argument);
    return list ? list->count : 0;
}

/* "grads[12]", without the cost of printf: it is made for each tensor of a step. */
static const char *item_name(const struct operator_call *call, uint32_t argument, size_t index,
                             char text[48]) {
    char *at = text + 46;
    at[0] = ']';
    at[1] = 0;
    do {
        *--at = (char)('0' + index % 10);
    } while (index /= 10);
    *--at = '[';
    const char *name = argument_name(call, argument);
    size_t length = strlen(name);
    return memcpy(at - length, name, length);
}

const ingot_tensor *argument_list_item(struct operator_call *call, uint32_t argument, size_t index,
                                       bool written, bool any_order) {
    struct operator_call_list *list = (struct operator_call_list *)list_of(call, argument);
    if (call->status || !list) {
        return &nothing;
    }
    char text[48];
    const char *name = item_name(call, argument, index, text);
    if (index >= list->count) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s has %zu tensors, and no number %zu",
                           argument_name(call, argument), list->count, index);
        return &nothing;
    }
    ingot_tensor *tensor = &list->tensors[list->described++];
    tensor->buffer = NULL;
    describe(call, name, list->handles[index], any_order ? LAYOUT_ANY : LAYOUT_DENSE, written,
             tensor);
    if (call->has_device && call->device_of == name) {
        call->device_of = argument_name(call, argument);
    }
    if (call->status) {
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

bool argument_items_alike(const struct operator_call *call, const uint32_t *arguments, size_t count,
                          size_t index) {
    int64_t rank = 0, first_rank = 0, *shape, *strides, *first_shape = NULL, *first_strides = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct operator_call_list *list = list_of(call, arguments[i]);
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

double argument_float(const struct operator_call *call, uint32_t argument) {
    double value;
    memcpy(&value, &call->values[argument], sizeof value);
    return value;
}

float argument_nonzero_float(const struct operator_call *call, uint32_t argument) {
    float value = (float)argument_float(call, argument);
    return value == 0 ? FLT_MIN : value;
}

int64_t argument_int(const struct operator_call *call, uint32_t argument) {
    return (int64_t)call->values[argument];
}

uint32_t argument_u32(struct operator_call *call, uint32_t argument) {
    int64_t value = argument_int(call, argument);
    if (value >= 0 && value <= INT32_MAX) {
        return (uint32_t)value;
    }
    operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s is %lld; it must be 0 to %d",
                       argument_name(call, argument), (long long)value, INT32_MAX);
    return 0;
}

bool argument_optional_int(const struct operator_call *call, uint32_t argument, int64_t *value) {
    *value = call->present[argument] ? (int64_t)call->values[argument] : 0;
    return call->present[argument];
}

bool argument_bool(const struct operator_call *call, uint32_t argument) {
    return (call->values[argument] & 0xff) != 0; /* the bytes above are not set by every torch */
}

int64_t argument_choice(struct operator_call *call, uint32_t argument, int64_t last,
                        const char *known) {
    const int64_t value = argument_int(call, argument);
    if (value < 0 || value > last) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT, "%s is %lld; it must be %s",
                           argument_name(call, argument), (long long)value, known);
    }
    return value;
}

ingot_scalar_type argument_dtype(struct operator_call *call, uint32_t argument) {
    int32_t dtype = (int32_t)(uint32_t)call->values[argument];
    ingot_scalar_type type = torch_to_scalar(dtype);
    if (type == INGOT_SCALAR_NONE) {
        operator_call_fail(call, INGOT_INVALID_ARGUMENT,
                           "%s is %s; ingot computes in float32, float16 and bfloat16",
                           argument_name(call, argument), torch_dtype_text(dtype));
    }
    return type;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static const ingot_tensor *make_output(struct operator_call *call, uint32_t output,
                                       ingot_scalar_type type, uint32_t rank, const int64_t *shape,
                                       bool scalar) {
    if (call->status ||
        (!call->has_device && !choose_device(call, "the output", torch.device_cpu(), -1))) {
        return &nothing;
    }
    ingot_tensor *tensor = &call->tensors[call->tensor_count++];
    tensor->buffer = NULL;
    tensor->offset = 0;
    tensor->type = type;
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
    }
    tensor_set_dense_strides(tensor);
    tensor->rank = scalar ? 0 : rank;
    call->outputs[output] = allocate(call, tensor);
    tensor->rank = rank;
    if (call->outputs[output]) {
        wrap(call, "an output", call->outputs[output], tensor);
    }
    return call->status ? &nothing : tensor;
}

const ingot_tensor *output_tensor(struct operator_call *call, uint32_t output,
                                  ingot_scalar_type type, uint32_t rank, const int64_t *shape) {
    return make_output(call, output, type, rank, shape, false);
}

const ingot_tensor *output_like(struct operator_call *call, uint32_t output,
                                const ingot_tensor *model) {
    if (call->status) {
        return &nothing;
    }
    bool scalar = call->scalars >> (model - call->tensors) & 1;
    return make_output(call, output, model->type, model->rank, model->shape, scalar);
}

const ingot_tensor *output_with_last(struct operator_call *call, uint32_t output,
                                     const ingot_tensor *model, int64_t extent) {
    int64_t shape[INGOT_MAX_RANK] = {0};
    memcpy(shape, model->shape, model->rank * sizeof *shape);
    if (model->rank) {
        shape[model->rank - 1] = extent;
    }
    return output_tensor(call, output, model->type, model->rank, shape);
}

const ingot_tensor *output_absent(struct operator_call *call, uint32_t output,
                                  ingot_scalar_type type) {
    output_tensor(call, output, type, 1, (const int64_t[]){0});
    return NULL;
}

const ingot_tensor *output_like_optional(struct operator_call *call, uint32_t output,
                                         const ingot_tensor *model, ingot_scalar_type absent_type) {
    return model ? output_like(call, output, model) : output_absent(call, output, absent_type);
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

struct operator_call_list *operator_call_add_list(struct operator_call *call, uint32_t argument,
                                                  size_t count) {
    struct operator_call_list *list = &call->lists[call->list_count++];
    *list = (struct operator_call_list){.argument = argument};
    list->handles = malloc((count ? count : 1) * sizeof *list->handles);
    list->tensors = malloc((count ? count : 1) * sizeof *list->tensors);
    if (list->handles && list->tensors) {
        return list;
    }
    operator_call_fail(call, INGOT_OUT_OF_MEMORY, "no memory for a list of %zu tensors", count);
    return NULL;
}

static void open_list(struct operator_call *call, uint32_t argument) {
    torch_list *elements = (torch_list *)call->values[argument];
    size_t count = 0;
    torch.list_size(elements, &count);
    struct operator_call_list *list = operator_call_add_list(call, argument, count);
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

void operator_call_begin(struct operator_call *call, const struct torch_operator *op) {
    call->op = op;
    call->status = INGOT_OK;
    call->borrows = call->interruptible = call->has_device = false;
    call->tensor_count = call->list_count = call->scalars = 0;
    call->copies = NULL;
    call->copy_count = call->copy_capacity = 0;
    memset(call->values, 0, sizeof call->values);
    memset(call->present, 0, sizeof call->present);
    memset(call->outputs, 0, sizeof call->outputs);
}

void operator_call_open(struct operator_call *call, const struct torch_operator *op,
                        const torch_value *stack) {
    operator_call_begin(call, op);
    for (uint32_t i = 0; i < op->argument_count; i++) {
        call->values[i] = stack[i];
        switch (op->arguments[i].kind) {
        case ARGUMENT_OPTIONAL_TENSOR:
        case ARGUMENT_OPTIONAL_INT:
            call->present[i] = torch_unbox(&call->values[i]);
            break;
        case ARGUMENT_TENSOR_LIST:
            open_list(call, i);
            break;
        default:
            break;
        }
    }
}

void operator_call_run(struct operator_call *call) {
    if (!call->status) {
        running = call;
        fail_ingot(call, call->op->run(call));
        running = NULL;
    }
    if (call->has_device && call->device_type == torch.device_cpu()) {
        /* also after a failure: some of its work may be under way */
        fail_ingot(call, ingot_stream_wait(call->context.stream));
    }
    if (call->interruptible) {
        interruptible_leave();
    }
    for (size_t i = 0; i < call->copy_count && !call->status; i++) {
        if (call->copies[i].original) {
            copy(call, call->copies[i].original, call->copies[i].tensor);
        }
    }
}

void operator_call_close(struct operator_call *call, torch_value *stack) {
    const struct torch_operator *op = call->op;
    for (uint32_t i = 0; i < call->tensor_count; i++) {
        ingot_buffer_release(call->tensors[i].buffer);
    }
    for (uint32_t i = 0; i < call->list_count; i++) {
        struct operator_call_list *list = &call->lists[i];
        for (size_t j = 0; j < list->described; j++) {
            ingot_buffer_release(list->tensors[j].buffer);
        }
        for (size_t j = 0; j < list->count; j++) {
            torch.delete_tensor(list->handles[j]);
        }
        free(list->handles);
        free(list->tensors);
    }
    for (size_t i = 0; i < call->copy_count; i++) {
        torch.delete_tensor(call->copies[i].tensor);
    }
    free(call->copies);
    if (call->has_device) {
        context_done(&call->context);
    }
    for (uint32_t i = 0; i < op->argument_count && !call->borrows; i++) {
        if ((op->arguments[i].kind == ARGUMENT_TENSOR ||
             op->arguments[i].kind == ARGUMENT_OPTIONAL_TENSOR) &&
            call->values[i]) {
            torch.delete_tensor((torch_tensor *)call->values[i]);
        }
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (!call->status) {
            stack[i] = (torch_value)call->outputs[i];
        } else if (call->outputs[i]) {
            torch.delete_tensor(call->outputs[i]);
        }
    }
}
