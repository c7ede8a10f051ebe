/* Modules of LLVM as a whole: see module.h. */
#include "compiler/ir/module.h"

#include <llvm-c/BitReader.h>
#include <string.h>

#include "compiler/ir/walk.h"

static void ignore_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
    (void)info;
    (void)context;
}

ingot_status igc_module_parse(LLVMContextRef context, const void *bitcode, size_t size,
                              LLVMModuleRef *module, struct ig_error *error) {
    LLVMContextSetDiagnosticHandler(context, ignore_diagnostic, NULL);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, "kernel.bc");
    LLVMBool bad = LLVMParseBitcodeInContext2(context, buffer, module);
    LLVMDisposeMemoryBuffer(buffer);
    return bad ? ig_fail(error, INGOT_INTERNAL_ERROR,
                         "LLVM cannot read the %zu bytes of bitcode that clang made; are clang and "
                         "the LLVM library of the same version?",
                         size)
               : INGOT_OK;
}

void igc_print_module(LLVMModuleRef module, struct ig_text *out) {
    char *text = LLVMPrintModuleToString(module);
    ig_text_puts(out, text);
    LLVMDisposeMessage(text);
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

const char *igc_constant_text(LLVMValueRef value, size_t *length) {
    while (value && LLVMIsAConstantExpr(value)) { /* casts and offsets of zero */
        value = LLVMGetOperand(value, 0);
    }
    LLVMValueRef init = value && LLVMIsAGlobalVariable(value) ? LLVMGetInitializer(value) : NULL;
    if (!init || !LLVMIsAConstantDataSequential(init) || !LLVMIsConstantString(init)) {
        return NULL;
    }
    return LLVMGetAsString(init, length);
}
