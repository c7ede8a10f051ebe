/*
 * Registers the operators that the folders of kernels/ describe with torch's dispatcher, as
 * TORCH_LIBRARY does in C++: namespace "ingot", implementations for the CPU and, where torch has
 * it, for CUDA.
 *
 * An error in an operator becomes a C++ exception that torch throws for us (aoti_torch_check); it
 * passes through `enter` and the function of the operator, which hold nothing by then.
 */
#include "python/torch/register.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/torch/mps_device.h"
#include "python/torch/operators.h"
#include "python/torch/types.h"

#define OPERATOR(name, signature) {#name, signature, torch_op_##name, 0, 0, {{0}}},
static struct torch_operator operators[] = {
#include "python/torch/operators.def"
    {0}};
#undef OPERATOR

/* ---- the functions that torch calls ---------------------------------------------------------- */

/* Unused in a build without operations. */
__attribute__((unused)) static void enter(const struct torch_operator *op, torch_value *stack) {
    char message[sizeof((struct operator_call *)0)->message];
    {
        struct operator_call call;
        operator_call_open(&call, op, stack);
        operator_call_run(&call);
        operator_call_close(&call, stack);
        if (!call.status) {
            return;
        }
        memcpy(message, call.message, sizeof message);
    }
    torch.check(false, op->name, "ingot", 0, message);
}

#define OPERATOR(name, signature)                                                                  \
    static void enter_##name(torch_value *stack, uint64_t inputs, uint64_t outputs) {              \
        (void)inputs, (void)outputs;                                                               \
        enter(&operators[OPERATOR_##name], stack);                                                 \
    }
#include "python/torch/operators.def"
#undef OPERATOR

#define OPERATOR(name, signature) enter_##name,
static torch_kernel *const kernels[] = {
#include "python/torch/operators.def"
    NULL};
#undef OPERATOR

/* ---- handles for call_by_handles.c ----------------------------------------------------------- */

/* _take(Tensor tensor) -> int: the handle, which belongs to the caller from then on. It is on the
 * stack already. */
static void enter_take(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)stack, (void)inputs, (void)outputs;
}

/* _give(int handle) -> Tensor: the other way round. */
static void enter_give(torch_value *stack, uint64_t inputs, uint64_t outputs) {
    (void)stack, (void)inputs, (void)outputs;
}

/* ---- reading the schemas ----------------------------------------------------------------- */

static argument_kind kind_of(const char *type, size_t length) {
    bool list = length > 2 && !strncmp(type + length - 2, "[]", 2);
    bool optional = type[length - 1] == '?';
    switch (type[0]) {
    case 'T':
        return list ? ARGUMENT_TENSOR_LIST : optional ? ARGUMENT_OPTIONAL_TENSOR : ARGUMENT_TENSOR;
    case 'f':
        return ARGUMENT_FLOAT;
    case 'i':
        return optional ? ARGUMENT_OPTIONAL_INT : ARGUMENT_INT;
    case 'b':
        return ARGUMENT_BOOL;
    default:
        return ARGUMENT_DTYPE;
    }
}

/* "1.0", "-100", "False", "None" */
static torch_value read_default(argument_kind kind, const char *text) {
    torch_value value = 0;
    const double number = strtod(text, NULL);
    if (kind == ARGUMENT_FLOAT) {
        memcpy(&value, &number, sizeof number);
    } else if (kind == ARGUMENT_INT) {
        value = (torch_value)strtoll(text, NULL, 10);
    } else if (kind == ARGUMENT_BOOL) {
        value = text[0] == 'T';
    }
    return value;
}

/* "(Tensor(a!) y, float alpha=1.0) -> ()": what the arguments are, and how many results. */
static void read_signature(struct torch_operator *op) {
    const char *at = op->signature + 1, *arrow = strstr(op->signature, " -> ");
    while (at < arrow && op->argument_count < OPERATOR_ARGUMENTS && *at != ')') {
        size_t type = strcspn(at, " "), name = strcspn(at + type + 1, ",=)");
        uint32_t index = op->argument_count++;
        op->arguments[index].kind = kind_of(at, type);
        snprintf(op->arguments[index].name, sizeof op->arguments[index].name, "%.*s", (int)name,
                 at + type + 1);
        at += type + 1 + name;
        op->arguments[index].has_default = *at == '=';
        if (*at == '=') {
            op->arguments[index].by_default = read_default(op->arguments[index].kind, at + 1);
        }
        at += strcspn(at, ",)");
        at += *at == ',' ? 2 : 0;
    }
    for (const char *result = strstr(arrow, "Tensor"); result;
         result = strstr(result + 1, "Tensor")) {
        op->output_count++;
    }
}

bool torch_needs_python(const struct torch_operator *op) {
    if (torch.list_size) {
        return false;
    }
    for (uint32_t i = 0; i < op->argument_count; i++) {
        if (op->arguments[i].kind == ARGUMENT_TENSOR_LIST) {
            return true;
        }
    }
    return false;
}

/* ---- registration ------------------------------------------------------------------------ */

static bool define(torch_library *library, const struct torch_operator *op, char *message,
                   size_t size) {
    char schema[1024];
    snprintf(schema, sizeof schema, "%s%s", op->name, op->signature);
    torch_error error;
    if (torch.define_with_tags && torch.tag_pt2_compliant) {
        int32_t tag = torch.tag_pt2_compliant();
        error = torch.define_with_tags(library, schema, &tag, 1);
    } else {
        error = torch.define(library, schema);
    }
    if (error) {
        snprintf(message, size, "torch refused the operator ingot::%s", schema);
    }
    return !error;
}

static bool implement(torch_library *library, size_t index, char *message, size_t size) {
    const char *name = operators[index].name;
    torch_error error =
        torch.implement_versioned
            ? torch.implement_versioned(library, name, kernels[index], TORCH_BUILD_VERSION)
            : torch.implement(library, name, kernels[index]);
    if (error) {
        snprintf(message, size, "torch refused the implementation of ingot::%s", name);
    }
    return !error;
}

/* Without lists in torch's C interface, Python hands tensors over one by one. */
static bool register_handles(torch_library *definitions, torch_library *cpu, torch_library *cuda,
                             char *message, size_t size) {
    torch_library *everywhere = NULL;
    bool done =
        !torch.define(definitions, "_take(Tensor tensor) -> int") &&
        !torch.define(definitions, "_give(int handle) -> Tensor") &&
        !torch.library_implement("ingot", "CompositeExplicitAutograd", "ingot", 0, &everywhere) &&
        !torch.implement(cpu, "_take", enter_take) &&
        (!cuda || !torch.implement(cuda, "_take", enter_take)) &&
        !torch.implement(everywhere, "_give", enter_give);
    if (!done) {
        snprintf(message, size, "torch refused the operators ingot::_take and ingot::_give");
    }
    return done;
}

bool torch_register_operators(const char *path, char *message, size_t size) {
    static bool done;
    if (done) {
        return true;
    }
    if (!torch_shim_load(path, message, size)) {
        return false;
    }
    torch_types_init();
    for (size_t i = 0; operators[i].name; i++) {
        if (!operators[i].argument_count) {
            read_signature(&operators[i]);
        }
    }
    /* for the life of the process */
    torch_library *definitions = NULL, *cpu = NULL, *cuda = NULL;
    if (torch.library_define("ingot", "ingot", 0, &definitions) ||
        torch.library_implement("ingot", "CPU", "ingot", 0, &cpu) ||
        (context_has_cuda() && torch.library_implement("ingot", "CUDA", "ingot", 0, &cuda))) {
        snprintf(message, size, "torch refused the namespace \"ingot\": it is taken already");
        return false;
    }
    for (size_t i = 0; operators[i].name; i++) {
        if (!define(definitions, &operators[i], message, size)) {
            return false;
        }
        if (torch_needs_python(&operators[i])) {
            continue;
        }
        if (!implement(cpu, i, message, size) || (cuda && !implement(cuda, i, message, size))) {
            return false;
        }
    }
    context_set_cuda_scratch(operator_call_scratch);
    done = torch.list_size || register_handles(definitions, cpu, cuda, message, size);
    return done;
}

bool torch_register_mps(const char *path, char *message, size_t size) {
    static bool done;
    torch_library *mps = NULL;
    if (done) {
        return true;
    }
    if (!operators[0].argument_count || !torch.device_mps) {
        snprintf(message, size, "operators on mps need %s",
                 torch.device_mps ? "torch_register before" : "a newer torch");
        return false;
    }
    if (!mps_device_load(path, message, size)) {
        return false;
    }
    if (torch.library_implement("ingot", "MPS", "ingot", 0, &mps)) {
        snprintf(message, size, "torch refused implementations for MPS");
        return false;
    }
    done = true;
    for (size_t i = 0; operators[i].name; i++) {
        if (!torch_needs_python(&operators[i]) && !implement(mps, i, message, size)) {
            return false;
        }
    }
    return true;
}

const struct torch_operator *torch_operator_at(size_t index) {
    return operators[index].name ? &operators[index] : NULL;
}
