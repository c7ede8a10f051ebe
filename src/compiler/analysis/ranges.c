/*
 * Upper bounds of integers, read off the instructions that make them. Used to show that 32-bit
 * arithmetic on positions does not wrap. Holds for every lane, active or not.
 */
#include "compiler/analysis/analysis_internal.h"
#include "compiler/ir/builtins.h"

#define MAX_DEPTH 8

static uint64_t maximum(LLVMValueRef value, unsigned depth);

uint64_t igv_type_maximum(LLVMTypeRef type) {
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) >= 64) {
        return UINT64_MAX;
    }
    return (UINT64_C(1) << LLVMGetIntTypeWidth(type)) - 1;
}

static uint64_t all_ones_above(uint64_t value) {
    for (unsigned shift = 1; shift < 64; shift *= 2) {
        value |= value >> shift;
    }
    return value;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t call_maximum(LLVMValueRef call, unsigned depth) {
    uint64_t limit = igv_type_maximum(LLVMTypeOf(call));
    const struct igi_facts *facts = igi_facts_of(call);
    if (facts->maximum) {
        return smaller(limit, facts->maximum);
    }
    switch (igi_intrinsic_of(call)) {
    case IGI_LLVM_umin:
        return smaller(maximum(LLVMGetOperand(call, 0), depth),
                       maximum(LLVMGetOperand(call, 1), depth));
    case IGI_LLVM_umax:
        return larger(maximum(LLVMGetOperand(call, 0), depth),
                      maximum(LLVMGetOperand(call, 1), depth));
    case IGI_LLVM_ctpop:
    case IGI_LLVM_ctlz:
    case IGI_LLVM_cttz:
        return smaller(limit, 64);
    default:
        return limit;
    }
}

static uint64_t phi_maximum(LLVMValueRef phi) {
    uint64_t result = 0, limit = igv_type_maximum(LLVMTypeOf(phi));
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef incoming = LLVMGetIncomingValue(phi, i);
        if (!LLVMIsAConstantInt(incoming)) {
            return limit;
        }
        result = larger(result, maximum(incoming, 0));
    }
    return result;
}

static uint64_t binary_maximum(LLVMOpcode opcode, LLVMValueRef value, unsigned depth) {
    uint64_t limit = igv_type_maximum(LLVMTypeOf(value)), result;
    uint64_t left = maximum(LLVMGetOperand(value, 0), depth);
    LLVMValueRef operand = LLVMGetOperand(value, 1);
    uint64_t right = maximum(operand, depth);
    bool constant = LLVMIsAConstantInt(operand) != NULL;
    switch (opcode) {
    case LLVMAnd:
        return smaller(left, right);
    case LLVMOr:
    case LLVMXor:
        return smaller(limit, all_ones_above(left | right));
    case LLVMAdd:
        return __builtin_add_overflow(left, right, &result) ? limit : smaller(limit, result);
    case LLVMMul:
        return __builtin_mul_overflow(left, right, &result) ? limit : smaller(limit, result);
    case LLVMShl:
        if (!constant || right >= 64 || left > (limit >> right)) {
            return limit;
        }
        return left << right;
    case LLVMLShr:
        return constant && right < 64 ? left >> right : left;
    case LLVMUDiv:
        return constant && right ? left / right : left;
    case LLVMURem:
        return right ? smaller(left, right - 1) : left;
    default:
        return limit;
    }
}

/* Sums and products that pass the type's limit wrap, so the bound must be the limit itself. */
static uint64_t maximum(LLVMValueRef value, unsigned depth) {
    uint64_t limit = igv_type_maximum(LLVMTypeOf(value));
    if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) {
        return UINT64_MAX;
    }
    if (LLVMIsAConstantInt(value)) {
        return LLVMConstIntGetZExtValue(value);
    }
    if (!LLVMIsAInstruction(value) || depth >= MAX_DEPTH) {
        return limit;
    }
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    switch (opcode) {
    case LLVMZExt:
        return maximum(LLVMGetOperand(value, 0), depth + 1);
    case LLVMTrunc:
        return smaller(limit, maximum(LLVMGetOperand(value, 0), depth + 1));
    case LLVMSExt: {
        LLVMTypeRef narrow = LLVMTypeOf(LLVMGetOperand(value, 0));
        uint64_t source = maximum(LLVMGetOperand(value, 0), depth + 1);
        return source <= igv_type_maximum(narrow) / 2 ? source : limit;
    }
    case LLVMSelect:
        return larger(maximum(LLVMGetOperand(value, 1), depth + 1),
                      maximum(LLVMGetOperand(value, 2), depth + 1));
    case LLVMFreeze:
        return limit;
    case LLVMPHI:
        return phi_maximum(value);
    case LLVMCall:
        return call_maximum(value, depth + 1);
    default:
        return LLVMIsABinaryOperator(value) ? binary_maximum(opcode, value, depth + 1) : limit;
    }
}

uint64_t igv_known_maximum(LLVMValueRef value) {
    return maximum(value, 0);
}
