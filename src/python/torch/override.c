/* What the overrides in C share: their table, limits, and the life of a call. */
#include "python/torch/override.h"

#include <dlfcn.h>
#include <string.h>

#include "python/torch/override_limits.h"
#include "python/torch/types.h"

#define OVERRIDE(name, original, composite, lists, strings)                                        \
    {#name, original, override_##name, composite, lists, strings, NULL, {NULL, NULL}, 0, 0},
struct override overrides[] = {
#include "python/torch/overrides.def"
    {0}};
#undef OVERRIDE

/* ---- limits -------------------------------------------------------------------------------- */

#define LIMIT(name) #name,
const char *const limit_names[] = {
#include "python/torch/limits.def"
    NULL};
#undef LIMIT
struct limit_span limits[LIMIT_COUNT + 1][LIMIT_TYPES];

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

void override_leave(struct override_call *call) {
    for (uint32_t i = 0; i < OVERRIDE_TENSORS; i++) {
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

torch_tensor *override_tensor(struct override_call *call, uint32_t place, uint32_t argument) {
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

torch_tensor *override_optional_tensor(struct override_call *call, uint32_t place,
                                       uint32_t argument) {
    torch_value value = call->stack[argument];
    torch_tensor *tensor = torch_unbox(&value) ? (torch_tensor *)value : NULL;
    if (tensor && is_undefined(tensor)) {
        torch.delete_tensor(tensor);
        tensor = NULL;
    }
    call->tensors[place] = tensor;
    return tensor;
}

cpp_optional_double override_optional_double(struct override_call *call, uint32_t argument) {
    torch_value value = call->stack[argument];
    bool present = torch_unbox(&value);
    return (cpp_optional_double){present ? value_float(value) : 0, present};
}

cpp_optional_tensor override_as_optional(torch_tensor *tensor) {
    cpp_optional_tensor optional = {NULL, tensor != NULL};
    if (tensor) {
        memcpy(&optional.tensor, tensor, sizeof optional.tensor);
    }
    return optional;
}

struct tensor_facts tensor_facts_of(torch_tensor *tensor) {
    struct tensor_facts facts = {.type = INGOT_SCALAR_NONE, .elements = 1, .dense = true};
    int64_t *shape = NULL, *strides = NULL;
    int32_t dtype = 0;
    if (torch.get_dtype(tensor, &dtype) || torch_to_scalar(dtype) == INGOT_SCALAR_NONE ||
        torch.get_rank(tensor, &facts.rank) || torch.get_shape(tensor, &shape) ||
        torch.get_strides(tensor, &strides)) {
        return facts;
    }
    for (int64_t i = facts.rank; i-- > 0;) {
        facts.dense &= shape[i] == 1 || strides[i] == facts.elements;
        facts.elements *= shape[i];
    }
    facts.shape = shape;
    facts.strides = strides;
    facts.type = torch_to_scalar(dtype);
    return facts;
}

bool tensor_facts_same_shape(const struct tensor_facts *one, const struct tensor_facts *other) {
    return one->rank == other->rank &&
           !memcmp(one->shape, other->shape, (size_t)one->rank * sizeof *one->shape);
}

bool limit_allows_tensor(enum limit limit, const struct tensor_facts *x) {
    return x->dense && limit_allows(limit, x->type, x->elements);
}

bool limit_allows_gradient(enum limit limit, torch_tensor *d_out, torch_tensor *x) {
    const struct tensor_facts of_x = tensor_facts_of(x);
    if (!limit_allows_tensor(limit, &of_x)) {
        return false;
    }
    const struct tensor_facts of_d_out = tensor_facts_of(d_out);
    return of_d_out.type == of_x.type && of_d_out.dense &&
           tensor_facts_same_shape(&of_d_out, &of_x);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool run(struct override_call *call, const struct torch_operator *op,
                const torch_value *values, torch_value *outputs,
                char message[sizeof((struct operator_call *)0)->message]) {
    struct operator_call inner;
    operator_call_begin(&inner, op);
    inner.borrows = true;
    for (uint32_t i = 0; i < op->argument_count; i++) {
        inner.values[i] = values[i];
        inner.present[i] = values[i] != 0;
    }
    operator_call_run(&inner);
    operator_call_close(&inner, outputs);
    if (inner.status) {
        if (message) {
            memcpy(message, inner.message, sizeof inner.message);
        }
        return false;
    }
    atomic_fetch_add_explicit(&call->override->replaced, 1, memory_order_relaxed);
    return true;
}

bool override_attempt(struct override_call *call, const struct torch_operator *op,
                      const torch_value *values, torch_value *outputs) {
    return run(call, op, values, outputs, NULL);
}

void override_replace(struct override_call *call, const struct torch_operator *op,
                      const torch_value *values, torch_value *outputs) {
    char message[sizeof((struct operator_call *)0)->message];
    if (!run(call, op, values, outputs, message)) {
        torch.check(false, op->name, "ingot", 0, message);
    }
}

void (*override_pass_on(struct override_call *call))(void) {
    atomic_fetch_add_explicit(&call->override->passed, 1, memory_order_relaxed);
    return call->override->function;
}

void override_return(struct override_call *call, const cpp_result *result, uint32_t index,
                     uint32_t count) {
    void **handle = torch.operator_new(sizeof *handle);
    *handle = result->words[count - 1 - index];
    call->stack[index] = (torch_value)handle;
}
