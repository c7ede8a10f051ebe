/*
 * Overrides of norms, which torch composes of other operators, so that they are met above autograd.
 * Without a gradient to ask for, ingot's operator is run at once; else it is called through the
 * dispatcher, which has its gradient. Tensors that are no plain ones are left to torch.
 */
#include "python/python.h"

#include "python/torch/override_way.h"
#include "python/torch/register.h"
#include "python/torch/state.h"

#include <string.h>

typedef cpp_result layer_norm_function(torch_tensor *, cpp_ints, const cpp_optional_tensor *,
                                       const cpp_optional_tensor *, double, bool);
typedef cpp_result rms_norm_function(torch_tensor *, cpp_ints, const cpp_optional_tensor *,
                                     cpp_optional_double);

enum { LONGEST_SHAPE = 64 };

/* ---- through the dispatcher ------------------------------------------------------------------ */

static torch_value boxed(torch_tensor *tensor) {
    if (!tensor) {
        return 0;
    }
    torch_value *box = torch.operator_new(sizeof *box);
    *box = (torch_value)tensor;
    return (torch_value)box;
}

/* Calls ingot::NAME with its gradient; autocast has had its turn. */
static void dispatch(struct call *call, const struct operation *operation, const char *name,
                     const torch_value *values) {
    torch_value stack[FRAME_ARGUMENTS];
    for (uint32_t i = 0; i < operation->argument_count; i++) {
        stack[i] = operation->arguments[i].kind == ARGUMENT_OPTIONAL_TENSOR
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
    torch.check(!error, operation->name, "ingot", 0, why ? why : "ingot's operator failed");
    call->stack[0] = stack[0];
}

/* ---- the norms ------------------------------------------------------------------------------- */

/* The normalised shape, which the call owns as a list. */
static cpp_ints shape_of(struct call *call, int64_t shape[LONGEST_SHAPE]) {
    size_t length = 0;
    call->list = (torch_list *)call->stack[1];
    torch.list_size(call->list, &length);
    torch.check(length <= LONGEST_SHAPE, call->override->name, "ingot", 0,
                "the normalized shape has more than 64 dimensions");
    for (size_t i = 0; i < length; i++) {
        torch.list_get(call->list, i, (torch_value *)&shape[i]);
    }
    return (cpp_ints){shape, length};
}

/* Over the last dimension only, with parameters of the input's type. */
static bool is_affine(const struct look *x, cpp_ints shape, torch_tensor *parameter) {
    if (x->rank == 0 || shape.length != 1 || shape.data[0] != x->shape[x->rank - 1]) {
        return false;
    }
    if (!parameter) {
        return true;
    }
    const struct look look = look_at(parameter);
    return look.type == x->type && look.rank == 1 && look.shape[0] == shape.data[0] && look.dense;
}

static enum way norm_way(const struct call *call, const struct look *x, enum limit limit,
                         enum limit limit_direct) {
    const bool direct = call_may_go_direct(call);
    if (!x->dense || !limit_allows(direct ? limit_direct : limit, x->type, x->elements)) {
        return WAY_TORCH;
    }
    return call_way(call, direct);
}

static void run_norm(struct call *call, enum way way, size_t operation, const char *name,
                     const torch_value *values) {
    if (way == WAY_DIRECT) {
        call_replace(call, torch_operation(operation), values, call->stack);
    } else {
        dispatch(call, torch_operation(operation), name, values);
    }
}

void override_layer_norm(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    CALL(call, OVERRIDE_layer_norm, stack);
    int64_t extents[LONGEST_SHAPE];
    torch_tensor *x = call_tensor(&call, 0, 0), *weight = call_optional_tensor(&call, 1, 2),
                 *bias = call_optional_tensor(&call, 2, 3);
    const double eps = value_float(stack[4]);
    const bool cudnn = (stack[5] & 0xff) != 0;
    const cpp_ints shape = shape_of(&call, extents);
    const struct look look = look_at(x);
    if (eps > 0 && is_affine(&look, shape, weight) && is_affine(&look, shape, bias)) {
        const enum way way = norm_way(&call, &look, LIMIT_layer_norm, LIMIT_layer_norm_direct);
        if (way != WAY_TORCH) {
            run_norm(
                &call, way, OPERATION_layer_norm, "ingot::layer_norm",
                (torch_value[]){(torch_value)x, (torch_value)weight, (torch_value)bias, stack[4]});
            return;
        }
    }
    const cpp_optional_tensor of_weight = call_as_optional(weight),
                              of_bias = call_as_optional(bias);
    const cpp_result result =
        ((layer_norm_function *)call_pass_on(&call))(x, shape, &of_weight, &of_bias, eps, cudnn);
    call_return(&call, &result, 0, 1);
}

void override_rms_norm(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)inputs, (void)outputs;
    CALL(call, OVERRIDE_rms_norm, stack);
    int64_t extents[LONGEST_SHAPE];
    torch_tensor *x = call_tensor(&call, 0, 0), *weight = call_optional_tensor(&call, 1, 2);
    const cpp_optional_double eps = call_optional_double(&call, 3);
    /* torch computes half types in float32, and takes that type's epsilon */
    const double epsilon = eps.present ? eps.value : 0x1p-23;
    const cpp_ints shape = shape_of(&call, extents);
    const struct look look = look_at(x);
    if (epsilon > 0 && is_affine(&look, shape, weight)) {
        const enum way way = norm_way(&call, &look, LIMIT_rms_norm, LIMIT_rms_norm_direct);
        if (way != WAY_TORCH) {
            run_norm(&call, way, OPERATION_rms_norm, "ingot::rms_norm",
                     (torch_value[]){(torch_value)x, (torch_value)weight, float_value(epsilon)});
            return;
        }
    }
    const cpp_optional_tensor of_weight = call_as_optional(weight);
    const cpp_result result = ((rms_norm_function *)call_pass_on(&call))(x, shape, &of_weight, eps);
    call_return(&call, &result, 0, 1);
}
