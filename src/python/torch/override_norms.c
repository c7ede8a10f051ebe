/*
 * Overrides of norms, which torch composes of other operators, so that they are met above autograd.
 * Without a gradient to ask for, ingot's operator is run at once; else it is called through the
 * dispatcher, which has its gradient. Subclasses of Tensor are left to torch.
 */
#include "python/python.h"

#include "python/torch/override_norms.h"
#include "python/torch/register.h"
#include "python/torch/thread_state.h"

#include <stdio.h>
#include <string.h>

/* ---- through the dispatcher ------------------------------------------------------------------ */

static torch_value boxed(torch_tensor *tensor) {
    if (!tensor) {
        return 0;
    }
    torch_value *box = torch.operator_new(sizeof *box);
    *box = (torch_value)tensor;
    return (torch_value)box;
}

/* Calls an operator with its gradient; autocast has cast the arguments already. */
static void dispatch(struct override_call *call, const struct torch_operator *op,
                     const torch_value *values) {
    char name[64];
    snprintf(name, sizeof name, "ingot::%s", op->name);
    torch_value stack[OPERATOR_ARGUMENTS];
    for (uint32_t i = 0; i < op->argument_count; i++) {
        stack[i] = op->arguments[i].kind == ARGUMENT_OPTIONAL_TENSOR
                       ? boxed((torch_tensor *)values[i])
                       : values[i];
    }
    memset(call->tensors, 0, sizeof call->tensors); /* the stack owns them */
    const bool excluded = state.key_excluded(state.autocast_key);
    state.exclude_key(state.autocast_key, true);
    torch_error error = torch.call_versioned(name, "", stack, TORCH_BUILD_VERSION);
    state.exclude_key(state.autocast_key, excluded);
    atomic_fetch_add_explicit(&call->override->replaced, 1, memory_order_relaxed);
    const char *why = error && torch.exception_text ? torch.exception_text() : NULL;
    torch.check(!error, op->name, "ingot", 0, why ? why : "ingot's operator failed");
    call->stack[0] = stack[0];
}

cpp_ints norm_shape(struct override_call *call, int64_t shape[NORM_LONGEST_SHAPE]) {
    size_t length = 0;
    call->list = (torch_list *)call->stack[1];
    torch.list_size(call->list, &length);
    torch.check(length <= NORM_LONGEST_SHAPE, call->override->name, "ingot", 0,
                "the normalized shape has more than 64 dimensions");
    for (size_t i = 0; i < length; i++) {
        torch.list_get(call->list, i, (torch_value *)&shape[i]);
    }
    return (cpp_ints){shape, length};
}

bool norm_is_affine(const struct tensor_facts *x, cpp_ints shape, torch_tensor *parameter) {
    if (x->rank == 0 || shape.length != 1 || shape.data[0] != x->shape[x->rank - 1]) {
        return false;
    }
    if (!parameter) {
        return true;
    }
    const struct tensor_facts facts = tensor_facts_of(parameter);
    return facts.type == x->type && facts.rank == 1 && facts.shape[0] == shape.data[0] &&
           facts.dense;
}

enum override_route norm_route(const struct override_call *call, const struct tensor_facts *x,
                               enum limit limit, enum limit limit_direct) {
    const bool direct = override_may_bypass(call);
    if (!x->dense || !limit_allows(direct ? limit_direct : limit, x->type, x->elements)) {
        return ROUTE_TORCH;
    }
    return override_route(call, direct);
}

void norm_run(struct override_call *call, enum override_route route, size_t op,
              const torch_value *values) {
    if (route == ROUTE_BYPASS) {
        override_replace(call, torch_operator_at(op), values, call->stack);
    } else {
        dispatch(call, torch_operator_at(op), values);
    }
}
