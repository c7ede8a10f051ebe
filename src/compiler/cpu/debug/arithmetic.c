/*
 * Arithmetic as the other targets have it: divisions that never trap, and products that are added
 * without rounding, where the source allows that within an expression. What an optimiser may do
 * across statements, or by algebra, is not done here.
 */
#include "compiler/cpu/debug/debug.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"

/* ---- divisions ---- */
static LLVMTypeRef element_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* In every element. */
static LLVMValueRef splat(LLVMTypeRef type, LLVMValueRef value) {
    enum { MOST = 64 };
    LLVMValueRef values[MOST];
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetVectorSize(type) > MOST) {
        return value;
    }
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        values[i] = value;
    }
    return LLVMConstVector(values, LLVMGetVectorSize(type));
}

/* A divisor of 0, and one of -1 under the smallest number, become 1: the quotient is then the
 * number itself, as it wraps. */
static void guard_division(struct igc_kernel *kernel, LLVMValueRef division, bool is_signed) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef number = LLVMGetOperand(division, 0), divisor = LLVMGetOperand(division, 1);
    LLVMTypeRef type = LLVMTypeOf(divisor), element = element_of(type);
    uint64_t smallest = 1ull << (LLVMGetIntTypeWidth(element) - 1);
    LLVMPositionBuilderBefore(b, division);
    LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntEQ, divisor, LLVMConstNull(type), "");
    if (is_signed) {
        LLVMValueRef wraps =
            LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, divisor, LLVMConstAllOnes(type), ""),
                         LLVMBuildICmp(b, LLVMIntEQ, number,
                                       splat(type, LLVMConstInt(element, smallest, false)), ""),
                         "");
        bad = LLVMBuildOr(b, bad, wraps, "");
    }
    LLVMSetOperand(
        division, 1,
        LLVMBuildSelect(b, bad, splat(type, LLVMConstInt(element, 1, false)), divisor, ""));
}

/* ---- products ---- */
static bool may_contract(LLVMValueRef value) {
    return LLVMIsAInstruction(value) && LLVMCanValueUseFastMathFlags(value) &&
           (LLVMGetFastMathFlags(value) & LLVMFastMathAllowContract) &&
           LLVMGetTypeKind(element_of(LLVMTypeOf(value))) == LLVMFloatTypeKind;
}

static bool is_product(LLVMValueRef value) {
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMFMul &&
           may_contract(value) && LLVMGetFirstUse(value) && !LLVMGetNextUse(LLVMGetFirstUse(value));
}

/* a * b + c, a * b - c or c - a * b. */
static bool contract(struct igc_kernel *kernel, LLVMValueRef sum) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(sum);
    if ((opcode != LLVMFAdd && opcode != LLVMFSub) || !may_contract(sum)) {
        return false;
    }
    LLVMValueRef left = LLVMGetOperand(sum, 0), right = LLVMGetOperand(sum, 1);
    LLVMValueRef product = is_product(left) ? left : is_product(right) ? right : NULL;
    if (!product) {
        return false;
    }
    LLVMBuilderRef b = kernel->builder;
    LLVMTypeRef type = LLVMTypeOf(sum);
    LLVMPositionBuilderBefore(b, sum);
    LLVMValueRef operands[] = {LLVMGetOperand(product, 0), LLVMGetOperand(product, 1),
                               product == left ? right : left};
    if (opcode == LLVMFSub) {
        LLVMValueRef *negated = &operands[product == left ? 2 : 0];
        *negated = LLVMBuildFNeg(b, *negated, "");
    }
    LLVMValueRef fma = igi_declare_intrinsic(kernel->module, IGI_LLVM_fma, &type, 1);
    LLVMValueRef made = LLVMBuildCall2(b, LLVMGlobalGetValueType(fma), fma, operands, 3, "");
    LLVMInstructionSetDebugLoc(made, LLVMInstructionGetDebugLoc(sum));
    igi_replace(sum, made);
    LLVMInstructionEraseFromParent(product);
    return true;
}

enum igc_result igd_keep_arithmetic(struct igc_kernel *kernel) {
    igi_each_function(f, kernel->module) {
        igi_each_instruction_safe(in, f) {
            LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
            bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem;
            if (is_signed || opcode == LLVMUDiv || opcode == LLVMURem) {
                guard_division(kernel, in, is_signed);
            } else {
                contract(kernel, in);
            }
        }
    }
    return IGC_CHANGED;
}
