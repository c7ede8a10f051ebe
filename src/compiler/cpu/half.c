/*
 * Half precision on CPUs that only convert it. LLVM's x86 back end widens arithmetic on vectors
 * of half by itself, but takes comparisons and most intrinsics apart lane by lane, some into
 * calls of the C library. Here they become: extend to float, operate, round back.
 *
 * Requires the final vector code: instcombine turns such code into half again, so it must not
 * run afterwards. Exact for all but fma, which is rounded twice, as LLVM's own expansion is.
 */
#include <string.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"

static bool is_half(LLVMTypeRef type) {
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) {
        type = LLVMGetElementType(type);
    }
    return LLVMGetTypeKind(type) == LLVMHalfTypeKind;
}

/* float, or a vector of as many floats. */
static LLVMTypeRef float_like(LLVMTypeRef type) {
    LLVMTypeRef single = LLVMFloatTypeInContext(LLVMGetTypeContext(type));
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind
               ? LLVMVectorType(single, LLVMGetVectorSize(type))
               : single;
}

static LLVMValueRef extend(LLVMBuilderRef builder, LLVMValueRef value) {
    return LLVMBuildFPExt(builder, value, float_like(LLVMTypeOf(value)), "");
}

static void copy_fast_math(LLVMValueRef from, LLVMValueRef to) {
    if (LLVMIsAInstruction(to) && LLVMCanValueUseFastMathFlags(to)) {
        LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
    }
}

/* The intrinsics concerned: all operands and the result have the same type. fabs and copysign
 * work on bits and stay. */
static unsigned promotable(LLVMValueRef call) {
    enum igi_intrinsic intrinsic = igi_intrinsic_of(call);
    bool promotes = igi_intrinsic_flags(intrinsic) & IGI_I_HALF_BY_FLOAT;
    return promotes ? igi_intrinsic_id(intrinsic) : 0;
}

static LLVMValueRef promote_call(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef call,
                                 unsigned id) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = float_like(LLVMTypeOf(call));
    LLVMValueRef arguments[3];
    unsigned count = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < count; i++) {
        arguments[i] = extend(builder, LLVMGetOperand(call, i));
    }
    LLVMValueRef result =
        LLVMBuildCall2(builder, LLVMIntrinsicGetType(context, id, &type, 1),
                       LLVMGetIntrinsicDeclaration(module, id, &type, 1), arguments, count, "");
    copy_fast_math(call, result);
    return LLVMBuildFPTrunc(builder, result, LLVMTypeOf(call), "");
}

static LLVMValueRef promote(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef in) {
    if (LLVMIsAFCmpInst(in) && is_half(LLVMTypeOf(LLVMGetOperand(in, 0)))) {
        LLVMPositionBuilderBefore(builder, in);
        LLVMValueRef left = extend(builder, LLVMGetOperand(in, 0));
        LLVMValueRef right = extend(builder, LLVMGetOperand(in, 1));
        LLVMValueRef compare = LLVMBuildFCmp(builder, LLVMGetFCmpPredicate(in), left, right, "");
        copy_fast_math(in, compare);
        return compare;
    }
    if (LLVMIsACallInst(in) && is_half(LLVMTypeOf(in))) {
        unsigned id = promotable(in);
        if (id && LLVMGetNumArgOperands(in) <= 3) {
            LLVMPositionBuilderBefore(builder, in);
            return promote_call(module, builder, in, id);
        }
    }
    return NULL;
}

void igc_promote_half(LLVMModuleRef module) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    igi_each_function(f, module) {
        igi_each_instruction_safe(in, f) {
            LLVMValueRef replacement = promote(module, builder, in);
            if (replacement) {
                igi_replace(in, replacement);
            }
        }
    }
    LLVMDisposeBuilder(builder);
}
