/*
 * The function by which LLVM rounds to bfloat where the CPU cannot, and which comes with compilers'
 * own libraries, that kernels do not link. Provides it in the module, for the code generator.
 */
#include "compiler/cpu/debug/debug.h"

/* Round to nearest even; a NaN stays a NaN and becomes quiet. */
static LLVMValueRef rounded(struct igc_kernel *kernel, LLVMValueRef value) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef bits = LLVMBuildBitCast(b, value, kernel->i32, "");
    LLVMValueRef high = LLVMBuildLShr(b, bits, igc_integer(kernel->i32, 16), "");
    LLVMValueRef odd = LLVMBuildAnd(b, high, igc_integer(kernel->i32, 1), "");
    LLVMValueRef sum = LLVMBuildAdd(b, bits, igc_integer(kernel->i32, 0x7fff), "");
    sum = LLVMBuildLShr(b, LLVMBuildAdd(b, sum, odd, ""), igc_integer(kernel->i32, 16), "");
    LLVMValueRef quiet = LLVMBuildOr(b, high, igc_integer(kernel->i32, 0x40), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
    return LLVMBuildTrunc(b, LLVMBuildSelect(b, is_nan, quiet, sum, ""),
                          LLVMInt16TypeInContext(kernel->context), "");
}

enum igc_result igd_define_rounding(struct igc_kernel *kernel) {
    LLVMTypeRef single = LLVMFloatTypeInContext(kernel->context);
    LLVMTypeRef bfloat = LLVMBFloatTypeInContext(kernel->context);
    LLVMValueRef f = LLVMAddFunction(kernel->module, "__truncsfbf2",
                                     LLVMFunctionType(bfloat, &single, 1, false));
    LLVMSetVisibility(f, LLVMHiddenVisibility);
    LLVMPositionBuilderAtEnd(kernel->builder,
                             LLVMAppendBasicBlockInContext(kernel->context, f, ""));
    LLVMBuildRet(
        kernel->builder,
        LLVMBuildBitCast(kernel->builder, rounded(kernel, LLVMGetParam(f, 0)), bfloat, ""));
    return IGC_CHANGED;
}
