/*
 * The fast forms of some functions of the maths library by the hardware's approximations, where
 * these are within the bounds of MSL's table for fast maths:
 *
 *     exp   3 + floor(|2x|) ulp   ex2.approx(x · log2(e)): 2 ulp; the product's rounding, |x|
 * ulp/2, is put right afterwards, for sums of many terms exp2  3 + floor(|2x|) ulp   ex2.approx: 2
 * ulp rsqrt 2 ulp                 rsqrt.approx: 2^-22.9 x / y 2.5 ulp, for |y| in 2^±126   x ·
 * rcp.approx(y): 1 ulp, and the product's 0.5
 *
 * Subnormal results of the exponentials are 0, as in the library's own fast forms.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

/* A function of the same type, empty so far, in the other's place; the builder stands in it. */
static LLVMValueRef replace(LLVMModuleRef module, LLVMValueRef function, LLVMBuilderRef builder) {
    LLVMValueRef own = LLVMAddFunction(module, "nv.fast", LLVMGlobalGetValueType(function));
    LLVMSetLinkage(own, LLVMInternalLinkage);
    LLVMBasicBlockRef entry =
        LLVMAppendBasicBlockInContext(LLVMGetModuleContext(module), own, "entry");
    LLVMPositionBuilderAtEnd(builder, entry);
    LLVMReplaceAllUsesWith(function, own);
    return own;
}

/* intrinsic(arguments), all floats */
static LLVMValueRef call(LLVMModuleRef module, LLVMBuilderRef builder, const char *intrinsic,
                         LLVMValueRef *arguments, unsigned count) {
    LLVMTypeRef f32 = LLVMFloatTypeInContext(LLVMGetModuleContext(module));
    LLVMTypeRef type = LLVMFunctionType(f32, (LLVMTypeRef[]){f32, f32, f32}, count, false);
    LLVMValueRef callee = LLVMGetNamedFunction(module, intrinsic);
    callee = callee ? callee : LLVMAddFunction(module, intrinsic, type);
    return LLVMBuildCall2(builder, type, callee, arguments, count, "");
}

static void use_intrinsic(LLVMModuleRef module, LLVMValueRef function, LLVMBuilderRef builder,
                          const char *intrinsic) {
    LLVMValueRef x = LLVMGetParam(replace(module, function, builder), 0);
    LLVMBuildRet(builder, call(module, builder, intrinsic, &x, 1));
}

/* t = x log2(e), rounded, by r = x log2(e) - t; e^x = 2^t (1 + r ln 2). Where that is infinity
 * minus infinity, 2^t alone. */
static void use_exponential(LLVMModuleRef module, LLVMValueRef function, LLVMBuilderRef builder) {
    LLVMTypeRef f32 = LLVMFloatTypeInContext(LLVMGetModuleContext(module));
    LLVMValueRef x = LLVMGetParam(replace(module, function, builder), 0);
    LLVMValueRef log2e = LLVMConstReal(f32, 1.442695040888963);
    LLVMValueRef t = LLVMBuildFMul(builder, x, log2e, "");
    LLVMValueRef power = call(module, builder, "llvm.nvvm.ex2.approx.ftz.f", &t, 1);
    LLVMValueRef rest = call(module, builder, "llvm.fma.f32",
                             (LLVMValueRef[]){x, log2e, LLVMBuildFNeg(builder, t, "")}, 3);
    rest = LLVMBuildFMul(builder, rest, LLVMConstReal(f32, 0.6931471805599453), "");
    LLVMValueRef sum =
        call(module, builder, "llvm.fma.f32", (LLVMValueRef[]){power, rest, power}, 3);
    LLVMValueRef number = LLVMBuildFCmp(builder, LLVMRealORD, sum, sum, "");
    LLVMBuildRet(builder, LLVMBuildSelect(builder, number, sum, power, ""));
}

/* Subnormal y are 0 and so are subnormal 1 / y: both are outside of the range above. Without that
 * the hardware's instruction has four others around it. */
static void use_reciprocal(LLVMModuleRef module, LLVMValueRef function, LLVMBuilderRef builder) {
    static const char text[] = "rcp.approx.ftz.f32 $0, $1;", constraints[] = "=f,f";
    LLVMTypeRef f32 = LLVMFloatTypeInContext(LLVMGetModuleContext(module));
    LLVMTypeRef type = LLVMFunctionType(f32, &f32, 1, false);
    LLVMValueRef rcp =
        LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1, false,
                         false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef own = replace(module, function, builder), y = LLVMGetParam(own, 1);
    LLVMValueRef inverse = LLVMBuildCall2(builder, type, rcp, &y, 1, "");
    LLVMBuildRet(builder, LLVMBuildFMul(builder, LLVMGetParam(own, 0), inverse, ""));
}

enum igc_result igp_use_gpu_maths(struct igc_kernel *kernel) {
    LLVMModuleRef module = kernel->module;
    LLVMBuilderRef builder = kernel->builder;
    igi_each_function_safe(f, module) {
        switch (igi_maths_of_function(f)) {
        case IGI_MATHS_EXP2_FAST:
            use_intrinsic(module, f, builder, "llvm.nvvm.ex2.approx.ftz.f");
            break;
        case IGI_MATHS_RSQRT_FAST:
            use_intrinsic(module, f, builder, "llvm.nvvm.rsqrt.approx.f");
            break;
        case IGI_MATHS_EXP_FAST:
            use_exponential(module, f, builder);
            break;
        case IGI_MATHS_DIVIDE_FAST:
            use_reciprocal(module, f, builder);
            break;
        case IGI_NO_MATHS:
            break;
        }
    }
    return IGC_CHANGED;
}
