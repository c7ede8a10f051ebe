/* What the overrides in C share: their table, limits, and the life of a call. */
#include "python/torch/override.h"

#include <dlfcn.h>
#include <string.h>

#include "python/torch/override_limits.h"
#include "python/torch/types.h"

#define OVERRIDE(name, original, composite, lists, strings)                                        \
    {#name, original, override_##name, composite, lists, strings, NULL, {NULL, NULL}, 0, 0},
struct override overrides[OVERRIDE_COUNT] = {OVERRIDES(OVERRIDE)};
#undef OVERRIDE

/* ---- limits -------------------------------------------------------------------------------- */

#define OVERRIDE_TEXT(name) #name,
const char *const limit_names[LIMIT_COUNT] = {OVERRIDE_LIMITS(OVERRIDE_TEXT)};
#undef OVERRIDE_TEXT
struct limit_span limits[LIMIT_COUNT][LIMIT_TYPES];

static int type_index(ingot_scalar_type type) {
    switch (type) {
    case INGOT_SCALAR_F32:
        return 0;
    case INGOT_SCALAR_F16:
        return 1;
    case INGOT_SCALAR_BF16:
        return 2;
    default:
        return -1;
    }
}

bool limit_allows(enum limit limit, ingot_scalar_type type, int64_t elements) {
    int index = type_index(type);
    if (index < 0) {
        return false;
    }
    const struct limit_span *span = &limits[limit][index];
    return elements >= span->least && elements <= span->most;
}

/* ---- arguments ------------------------------------------------------------------------------- */

void call_leave(struct call *call) {
    for (uint32_t i = 0; i < CALL_TENSORS; i++) {
        if (call->tensors[i]) {
            torch.delete_tensor(call->tensors[i]);
        }
    }
    if (call->list) {
        torch.delete_list(call->list);
    }
    if (call->string) {
        torch.delete_string(call->string);
    }
}

torch_tensor *call_tensor(struct call *call, uint32_t place, uint32_t argument) {
    call->tensors[place] = (torch_tensor *)call->stack[argument];
    return call->tensors[place];
}

/* torch itself passes tensors of nothing for absent ones: all of them are one object. */
static bool is_undefined(torch_tensor *tensor) {
    static const void *undefined;
    if (!undefined) {
        undefined = dlsym(torch.library, "_ZN3c1019UndefinedTensorImpl10_singletonE");
    }
    const void *implementation;
    memcpy(&implementation, tensor, sizeof implementation);
    return implementation == undefined;
}

torch_tensor *call_optional_tensor(struct call *call, uint32_t place, uint32_t argument) {
    torch_value value = call->stack[argument];
    torch_tensor *tensor = torch_unbox(&value) ? (torch_tensor *)value : NULL;
    if (tensor && is_undefined(tensor)) {
        torch.delete_tensor(tensor);
        tensor = NULL;
    }
    call->tensors[place] = tensor;
    return tensor;
}

cpp_optional_double call_optional_double(struct call *call, uint32_t argument) {
    torch_value value = call->stack[argument];
    bool present = torch_unbox(&value);
    return (cpp_optional_double){present ? value_float(value) : 0, present};
}

cpp_optional_tensor call_as_optional(torch_tensor *tensor) {
    cpp_optional_tensor optional = {NULL, tensor != NULL};
    if (tensor) {
        memcpy(&optional.tensor, tensor, sizeof optional.tensor);
    }
    return optional;
}

struct look look_at(torch_tensor *tensor) {
    struct look look = {.type = INGOT_SCALAR_NONE, .elements = 1, .dense = true};
    int64_t *shape = NULL, *strides = NULL;
    int32_t dtype = 0;
    if (torch.get_dtype(tensor, &dtype) || torch_to_scalar(dtype) == INGOT_SCALAR_NONE ||
        torch.get_rank(tensor, &look.rank) || torch.get_shape(tensor, &shape) ||
        torch.get_strides(tensor, &strides)) {
        return look;
    }
    for (int64_t i = look.rank; i-- > 0;) {
        look.dense &= shape[i] == 1 || strides[i] == look.elements;
        look.elements *= shape[i];
    }
    look.shape = shape;
    look.strides = strides;
    look.type = torch_to_scalar(dtype);
    return look;
}

bool look_same_shape(const struct look *one, const struct look *other) {
    return one->rank == other->rank &&
           !memcmp(one->shape, other->shape, (size_t)one->rank * sizeof *one->shape);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool run(struct call *call, const struct operation *operation, const torch_value *values,
                torch_value *outputs, char message[sizeof((struct frame *)0)->message]) {
    struct frame frame;
    frame_begin(&frame, operation);
    frame.borrows = true;
    for (uint32_t i = 0; i < operation->argument_count; i++) {
        frame.values[i] = values[i];
        frame.present[i] = values[i] != 0;
    }
    frame_run(&frame);
    frame_close(&frame, outputs);
    if (frame.status) {
        if (message) {
            memcpy(message, frame.message, sizeof frame.message);
        }
        return false;
    }
    atomic_fetch_add_explicit(&call->override->replaced, 1, memory_order_relaxed);
    return true;
}

bool call_attempt(struct call *call, const struct operation *operation, const torch_value *values,
                  torch_value *outputs) {
    return run(call, operation, values, outputs, NULL);
}

void call_replace(struct call *call, const struct operation *operation, const torch_value *values,
                  torch_value *outputs) {
    char message[sizeof((struct frame *)0)->message];
    if (!run(call, operation, values, outputs, message)) {
        torch.check(false, operation->name, "ingot", 0, message);
    }
}

void (*call_pass_on(struct call *call))(void) {
    atomic_fetch_add_explicit(&call->override->passed, 1, memory_order_relaxed);
    return call->override->function;
}

void call_return(struct call *call, const cpp_result *result, uint32_t index, uint32_t count) {
    void **handle = torch.operator_new(sizeof *handle);
    *handle = result->words[count - 1 - index];
    call->stack[index] = (torch_value)handle;
}
