/* LLVM modules: parsing, finding the kernel, and the runner that every pass goes through. */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/ir/walk.h"

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
    (void)info;
    (void)context;
}

ingot_status igc_module_parse(LLVMContextRef context, const void *bitcode, size_t size,
                              LLVMModuleRef *module, struct ig_error *error) {
    double start = igc_time_now();
    LLVMContextSetDiagnosticHandler(context, ignore_diagnostic, NULL);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, "kernel.bc");
    LLVMBool bad = LLVMParseBitcodeInContext2(context, buffer, module);
    LLVMDisposeMemoryBuffer(buffer);
    if (bad) {
        return ig_fail(error, INGOT_INTERNAL_ERROR,
                       "LLVM cannot read the %zu bytes of bitcode that clang made; are clang and "
                       "the LLVM library of the same version?",
                       size);
    }
    igc_time_add("parse bitcode", igc_time_now() - start);
    return INGOT_OK;
}

void igc_forget_cpu(LLVMModuleRef module) {
    static const char *const names[] = {"target-cpu",    "target-features",
                                        "tune-cpu",      "min-legal-vector-width",
                                        "frame-pointer", "stack-protector-buffer-size"};
    igi_each_function(f, module) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, names[i],
                                             (unsigned)strlen(names[i]));
        }
    }
}

/* The text of a constant string, looking through casts and offsets of zero. */
const char *igc_constant_text(LLVMValueRef value, size_t *length) {
    while (value && LLVMIsAConstantExpr(value)) {
        value = LLVMGetOperand(value, 0);
    }
    LLVMValueRef init = value && LLVMIsAGlobalVariable(value) ? LLVMGetInitializer(value) : NULL;
    if (!init || !LLVMIsAConstantDataSequential(init) || !LLVMIsConstantString(init)) {
        return NULL;
    }
    return LLVMGetAsString(init, length);
}

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

void igc_module_isolate(LLVMModuleRef module, LLVMValueRef kernel) {
    igc_fill_inputs(module);
    delete_global(module, "llvm.global.annotations");
    delete_global(module, "llvm.used");
    delete_global(module, "llvm.compiler.used");
    igi_each_function(f, module) {
        if (!LLVMIsDeclaration(f)) {
            LLVMSetComdat(f, NULL);
            LLVMSetLinkage(f, f == kernel ? LLVMExternalLinkage : LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
    }
    igi_each_global(g, module) {
        size_t length;
        const char *name = LLVMGetValueName2(g, &length);
        if (!LLVMIsDeclaration(g) && strncmp(name, "llvm.", 5)) {
            LLVMSetComdat(g, NULL);
            LLVMSetLinkage(g, LLVMInternalLinkage);
            LLVMSetVisibility(g, LLVMDefaultVisibility);
            /* other threads write threadgroup memory too */
            LLVMSetExternallyInitialized(g, LLVMGetPointerAddressSpace(LLVMTypeOf(g)) ==
                                                INGOT_SPACE_THREADGROUP);
        }
    }
}

static bool listed(const char *variable, const char *name) {
    const char *value = getenv(variable);
    return value && (!strcmp(value, name) || !strcmp(value, "all"));
}

void igc_print_module(LLVMModuleRef module, struct ig_text *out) {
    char *text = LLVMPrintModuleToString(module);
    ig_text_puts(out, text);
    LLVMDisposeMessage(text);
}

ingot_status igc_stage(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name,
                       const char *pipeline, struct ig_error *error) {
    double start = igc_time_now();
    if (pipeline && !listed("INGOT_SKIP", name)) {
        LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
        LLVMErrorRef failure = LLVMRunPasses(module, pipeline, machine, options);
        LLVMDisposePassBuilderOptions(options);
        if (failure) {
            char *message = LLVMGetErrorMessage(failure);
            ig_fail(error, INGOT_INTERNAL_ERROR, "the stage \"%s\" did not run: %s", name, message);
            LLVMDisposeErrorMessage(message);
            return INGOT_INTERNAL_ERROR;
        }
    }
    if (listed("INGOT_DUMP", name)) {
        char *text = LLVMPrintModuleToString(module);
        fprintf(stderr, "; ---- after %s ----\n%s", name, text);
        LLVMDisposeMessage(text);
    }
    char *message = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) {
        ig_fail(error, INGOT_INTERNAL_ERROR, "the stage \"%s\" made invalid code: %s", name,
                message);
        LLVMDisposeMessage(message);
        return INGOT_INTERNAL_ERROR;
    }
    LLVMDisposeMessage(message);
    igc_time_add(name, igc_time_now() - start);
    return INGOT_OK;
}
