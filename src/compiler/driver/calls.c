/*
 * Calls that Metal forbids and clang, in the mode used here, does not: recursion, and a kernel
 * called like a function. Functions of floating-point numbers may call themselves all the same:
 * real programs do so, to a small depth, to bring an argument into range (see recursion.c).
 * Requires clang's own module, with its annotations and debug locations.
 */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/driver.h"

enum state { UNSEEN, ACTIVE, DONE };

struct function {
    LLVMValueRef value;
    enum state state;
    bool is_kernel;
};

struct calls {
    struct function *functions;
    size_t count;
    const struct igc_job *job;
    struct ig_error *error;
};

/* The last name in a mangled one: "_ZN3foo3barEi" → "bar". Names of other forms stay whole. */
static const char *plain_name(const char *mangled, size_t *length) {
    const char *name = mangled, *p = mangled + 2;
    *length = strlen(mangled);
    if (strncmp(mangled, "_Z", 2) != 0) {
        return name;
    }
    while (*p == 'N' || *p == 'K' || *p == 'L') {
        p++;
    }
    while (*p >= '1' && *p <= '9') {
        char *end;
        size_t size = strtoul(p, &end, 10);
        if (size > strlen(end)) {
            break;
        }
        name = end;
        *length = size;
        p = end + size;
    }
    return name;
}

static ingot_status refuse(struct calls *calls, LLVMValueRef call, bool kernel) {
    unsigned file_size = 0;
    size_t length, name_size;
    const char *mangled = LLVMGetValueName2(LLVMGetCalledValue(call), &length);
    const char *name = plain_name(mangled, &name_size);
    const char *file = LLVMGetDebugLocFilename(call, &file_size);
    struct igc_call_place place = {.file = file,
                                   .file_size = file ? file_size : 0,
                                   .line = file ? LLVMGetDebugLocLine(call) : 0,
                                   .name = name,
                                   .name_size = name_size};
    return igc_source_refuse_call(calls->job->source, &place,
                                  kernel ? "a kernel cannot be called like a function"
                                         : "recursive call: Metal does not allow recursion",
                                  calls->error);
}

static int compare_functions(const void *a, const void *b) {
    const struct function *x = a, *y = b;
    return (uintptr_t)x->value<(uintptr_t)y->value ? -1 : (uintptr_t)x->value>(uintptr_t) y->value;
}

static struct function *find(const struct calls *calls, LLVMValueRef value) {
    struct function key = {.value = value};
    return calls->count
               ? bsearch(&key, calls->functions, calls->count, sizeof key, compare_functions)
               : NULL;
}

static bool takes_floats(LLVMValueRef function) {
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, i)));
        if (kind == LLVMFloatTypeKind || kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind) {
            return true;
        }
    }
    return false;
}

/* Depth first; the depth is that of the call graph. */
static ingot_status visit(struct calls *calls, struct function *function) {
    ingot_status status = INGOT_OK;
    function->state = ACTIVE;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function->value); b && !status;
         b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef in = LLVMGetFirstInstruction(b); in && !status;
             in = LLVMGetNextInstruction(in)) {
            struct function *callee =
                LLVMIsACallInst(in) ? find(calls, LLVMGetCalledValue(in)) : NULL;
            if (!callee || callee->state == DONE) {
                continue;
            }
            if (callee->is_kernel || (callee->state == ACTIVE && !takes_floats(callee->value))) {
                status = refuse(calls, in, callee->state != ACTIVE);
            } else if (callee->state != ACTIVE) {
                status = visit(calls, callee);
            }
        }
    }
    function->state = DONE;
    return status;
}

ingot_status igc_check_calls(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                             struct ig_error *error) {
    struct calls calls = {.job = job, .error = error};
    size_t count = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        count += !LLVMIsDeclaration(f);
    }
    calls.functions = calloc(count + 1, sizeof *calls.functions);
    if (!calls.functions) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the %zu functions of kernel %s",
                       count, job->kernel);
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f)) {
            calls.functions[calls.count++] =
                (struct function){.value = f, .is_kernel = igc_module_is_kernel(module, f)};
        }
    }
    qsort(calls.functions, calls.count, sizeof *calls.functions, compare_functions);
    struct function *start = find(&calls, kernel);
    ingot_status status = start ? visit(&calls, start) : INGOT_OK;
    free(calls.functions);
    return status;
}
