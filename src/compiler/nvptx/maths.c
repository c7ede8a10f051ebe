/*
 * The fast forms of some functions of the maths library by the hardware's approximations, where
 * these are within the bounds of MSL's table for fast maths:
 *
 *     exp   3 + floor(|2x|) ulp   ex2.approx(x · log2(e)): 2 ulp, and |x| ulp/2 of the product
 *     exp2  3 + floor(|2x|) ulp   ex2.approx: 2 ulp
 *     rsqrt 2 ulp                 rsqrt.approx: 2^-22.9
 *
 * Subnormal results of the exponentials are 0, as in the library's own fast forms.
 */
#include <string.h>

#include "compiler/nvptx/nvptx.h"

static const struct {
    const char *name, *intrinsic;
    double factor; /* of the argument */
} forms[] = {
    {"__ingot_math_exp_fastf", "llvm.nvvm.ex2.approx.ftz.f", 1.442695040888963},
    {"__ingot_math_exp2_fastf", "llvm.nvvm.ex2.approx.ftz.f", 1.0},
    {"__ingot_math_rsqrt_fastf", "llvm.nvvm.rsqrt.approx.f", 1.0},
};

/* A function of the same type with the intrinsic as its body, in the other's place. */
static void replace(LLVMModuleRef module, LLVMValueRef function, const char *intrinsic,
                    double factor) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef f32 = LLVMFloatTypeInContext(context), type = LLVMFunctionType(f32, &f32, 1, false);
    LLVMValueRef callee = LLVMGetNamedFunction(module, intrinsic);
    callee = callee ? callee : LLVMAddFunction(module, intrinsic, type);
    LLVMValueRef own = LLVMAddFunction(module, "nv.fast", type);
    LLVMSetLinkage(own, LLVMInternalLinkage);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, own, "entry"));
    LLVMValueRef x = LLVMGetParam(own, 0);
    if (factor != 1.0) {
        x = LLVMBuildFMul(builder, x, LLVMConstReal(f32, factor), "");
    }
    LLVMBuildRet(builder, LLVMBuildCall2(builder, type, callee, &x, 1, ""));
    LLVMDisposeBuilder(builder);
    LLVMReplaceAllUsesWith(function, own);
}

void igc_use_gpu_maths(LLVMModuleRef module) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
            size_t length;
            const char *name = LLVMGetValueName2(f, &length);
            const char *found = strstr(name, forms[i].name);
            LLVMTypeRef type = LLVMGlobalGetValueType(f);
            next = LLVMGetNextFunction(f);
            if (found && !strcmp(found, forms[i].name) && !LLVMIsDeclaration(f) &&
                LLVMCountParamTypes(type) == 1 &&
                LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMFloatTypeKind) {
                replace(module, f, forms[i].intrinsic, forms[i].factor);
            }
        }
    }
}
