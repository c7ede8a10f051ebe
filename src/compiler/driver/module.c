/* LLVM modules: parsing, finding the kernel, and the runner that every pass goes through. */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/driver.h"

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

ingot_status igc_module_find(LLVMModuleRef module, const char *kernel, LLVMValueRef *function,
                             struct ig_error *error) {
    static const char prefix[] = "ingot.kernel:";
    const size_t prefix_length = sizeof prefix - 1, name_length = strlen(kernel);
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
        if (text && length == prefix_length + name_length && !memcmp(text, prefix, prefix_length) &&
            !memcmp(text + prefix_length, kernel, name_length) && LLVMIsAFunction(target) &&
            !LLVMIsDeclaration(target)) {
            *function = target;
            return INGOT_OK;
        }
    }
    return ig_fail(error, INGOT_INTERNAL_ERROR, "clang's output has no kernel named %s", kernel);
}

static void delete_global(LLVMModuleRef module, const char *name) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, name);
    if (global) {
        LLVMDeleteGlobal(global);
    }
}

void igc_module_isolate(LLVMModuleRef module, LLVMValueRef kernel) {
    delete_global(module, "llvm.global.annotations");
    delete_global(module, "llvm.used");
    delete_global(module, "llvm.compiler.used");
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f)) {
            LLVMSetComdat(f, NULL);
            LLVMSetLinkage(f, f == kernel ? LLVMExternalLinkage : LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
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
