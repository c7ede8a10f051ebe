/* Finding the kernel in the front end's module, and making it the only one. */
#include <llvm-c/Comdat.h>
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

static LLVMValueRef strip_casts(LLVMValueRef value) {
    while (value && LLVMIsAConstantExpr(value)) {
        value = LLVMGetOperand(value, 0);
    }
    return value;
}

static const char kernel_prefix[] = "ingot.kernel:";

/* Calls `matches` with each kernel function and its name, until it returns true. */
static LLVMValueRef search_kernels(LLVMModuleRef module,
                                   bool (*matches)(LLVMValueRef function, const char *name,
                                                   size_t length, const void *wanted),
                                   const void *wanted) {
    const size_t prefix_length = sizeof kernel_prefix - 1;
    LLVMValueRef list = LLVMGetNamedGlobal(module, "llvm.global.annotations");
    LLVMValueRef entries = list ? LLVMGetInitializer(list) : NULL;
    int count = entries ? LLVMGetNumOperands(entries) : 0;
    for (int i = 0; i < count; i++) {
        LLVMValueRef entry = LLVMGetOperand(entries, (unsigned)i);
        size_t length = 0;
        const char *text = igc_constant_text(LLVMGetOperand(entry, 1), &length);
        while (text && length && !text[length - 1]) {
            length--;
        }
        LLVMValueRef target = strip_casts(LLVMGetOperand(entry, 0));
        if (text && length >= prefix_length && !memcmp(text, kernel_prefix, prefix_length) &&
            LLVMIsAFunction(target) && !LLVMIsDeclaration(target) &&
            matches(target, text + prefix_length, length - prefix_length, wanted)) {
            return target;
        }
    }
    return NULL;
}

static bool has_name(LLVMValueRef function, const char *name, size_t length, const void *wanted) {
    (void)function;
    return length == strlen(wanted) && !memcmp(name, wanted, length);
}

static bool is_function(LLVMValueRef function, const char *name, size_t length,
                        const void *wanted) {
    (void)name;
    (void)length;
    return function == wanted;
}

ingot_status igc_module_find(LLVMModuleRef module, const char *kernel, LLVMValueRef *function,
                             struct ig_error *error) {
    *function = search_kernels(module, has_name, kernel);
    return *function ? INGOT_OK
                     : ig_fail(error, INGOT_INTERNAL_ERROR, "clang's output has no kernel named %s",
                               kernel);
}

bool igc_module_is_kernel(LLVMModuleRef module, LLVMValueRef function) {
    return search_kernels(module, is_function, function) != NULL;
}

static void delete_global(LLVMModuleRef module, const char *name) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, name);
    if (global) {
        LLVMDeleteGlobal(global);
    }
}

bool igc_is_for_debuggers(LLVMValueRef symbol) {
    static const char *const names[] = {IGC_DEBUG_THREAD, IGC_DEBUG_LANES, "ingot_thread_is",
                                        "ingot_threadgroup_is"};
    size_t length;
    const char *name = LLVMGetValueName2(symbol, &length);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) {
            return true;
        }
    }
    return false;
}

void igc_module_isolate(LLVMModuleRef module, LLVMValueRef kernel) {
    igc_fill_inputs(module);
    delete_global(module, "llvm.global.annotations");
    delete_global(module, "llvm.used");
    delete_global(module, "llvm.compiler.used");
    igi_each_function(f, module) {
        if (!LLVMIsDeclaration(f)) {
            LLVMSetComdat(f, NULL);
            LLVMSetLinkage(f, f == kernel || igc_is_for_debuggers(f) ? LLVMExternalLinkage
                                                                     : LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
    }
    igi_each_global(g, module) {
        size_t length;
        const char *name = LLVMGetValueName2(g, &length);
        if (!LLVMIsDeclaration(g) && !igi_is_llvm_name(name) && !igc_is_for_debuggers(g)) {
            LLVMSetComdat(g, NULL);
            LLVMSetLinkage(g, LLVMInternalLinkage);
            LLVMSetVisibility(g, LLVMDefaultVisibility);
            /* other threads write threadgroup memory too */
            LLVMSetExternallyInitialized(g, LLVMGetPointerAddressSpace(LLVMTypeOf(g)) ==
                                                INGOT_SPACE_THREADGROUP);
        }
    }
}
