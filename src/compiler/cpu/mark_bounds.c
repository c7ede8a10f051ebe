/*
 * Finds a kernel's leading bounds checks, `if (i >= n) return;`, and marks their conditions for
 * the vectoriser with calls of __ingot_in_bounds (see cpu/vectorise/bounds.c). Requires a prepared
 * kernel. A check counts while nothing before it has an effect: a SIMD-group can then be begun
 * again from the start.
 */
#include <string.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

enum { MOST_BLOCKS = 16, MOST_STEPS = 12 };

/* What a value depends on. */
enum source { THE_LAUNCH, THE_POSITION, ANYTHING };

static enum source source_of(LLVMValueRef value, int depth);

static enum source operand_source(LLVMValueRef instruction, int depth) {
    enum source worst = THE_LAUNCH;
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        enum source source = LLVMIsAFunction(operand) ? THE_LAUNCH : source_of(operand, depth + 1);
        worst = source > worst ? source : worst;
    }
    return worst;
}

/* A bound is compared with what grows with the position; `i % 2 == 0` or a value loaded from
 * place i is no bound, but splits most SIMD-groups. */
static enum source source_of(LLVMValueRef value, int depth) {
    if (!LLVMIsAInstruction(value)) {
        return LLVMIsAConstant(value) ? THE_LAUNCH : ANYTHING;
    }
    if (depth > MOST_STEPS || LLVMGetInstructionOpcode(value) == LLVMPHI) {
        return ANYTHING;
    }
    enum source operands = operand_source(value, depth);
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMCall:
        if (igi_is_call_of(value, IGI_thread_position_in_grid)) {
            return THE_POSITION;
        }
        break;
    case LLVMICmp:
        if (LLVMGetICmpPredicate(value) != LLVMIntEQ && LLVMGetICmpPredicate(value) != LLVMIntNE) {
            return operands;
        }
        break;
    case LLVMAnd:
    case LLVMOr:
        if (LLVMGetIntTypeWidth(LLVMTypeOf(value)) == 1) {
            return operands;
        }
        break;
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMUDiv:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMSelect:
        return operands;
    default:
        break;
    }
    return operands == THE_LAUNCH ? THE_LAUNCH : ANYTHING;
}

static bool is_only_return(LLVMBasicBlockRef block) {
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    return first && LLVMGetInstructionOpcode(first) == LLVMRet;
}

static bool has_effect(LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMStore:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
        return true;
    case LLVMLoad:
        return LLVMGetVolatile(instruction) || LLVMGetOrdering(instruction);
    case LLVMCall: {
        unsigned effects = IGI_I_COPIES | IGI_I_TRAPS | IGI_I_MASKED;
        unsigned harmless = IGI_PURE | IGI_GRID;
        return igi_is_intrinsic(instruction)
                   ? (igi_intrinsic_flags_of(instruction) & effects) != 0
                   : (igi_facts_of(instruction)->flags & harmless) != harmless;
    }
    default:
        return false;
    }
}

static bool block_has_effect(LLVMBasicBlockRef block) {
    igi_each_in_block(in, block) {
        if (has_effect(in) || LLVMGetInstructionOpcode(in) == LLVMPHI) {
            return true;
        }
    }
    return false;
}

static void mark(LLVMModuleRef module, LLVMValueRef branch, bool wanted) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i1 = LLVMInt1TypeInContext(context);
    LLVMValueRef function = igi_declare(module, IGI_in_bounds);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderBefore(builder, branch);
    LLVMValueRef args[] = {LLVMGetCondition(branch), LLVMConstInt(i1, wanted, false)};
    LLVMSetCondition(
        branch, LLVMBuildCall2(builder, LLVMGlobalGetValueType(function), function, args, 2, ""));
    LLVMDisposeBuilder(builder);
}

bool igc_mark_bounds(LLVMModuleRef module, LLVMValueRef kernel) {
    bool found = false;
    LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(kernel);
    for (int i = 0; i < MOST_BLOCKS && !block_has_effect(block); i++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
        if (LLVMGetInstructionOpcode(end) != LLVMBr) {
            break;
        }
        LLVMBasicBlockRef next = LLVMGetSuccessor(end, 0);
        if (LLVMIsConditional(end)) {
            bool leaves_if_true = is_only_return(next);
            LLVMBasicBlockRef other = LLVMGetSuccessor(end, 1);
            if (leaves_if_true == is_only_return(other)) {
                break;
            }
            enum source source = source_of(LLVMGetCondition(end), 0);
            if (source == ANYTHING) {
                break;
            }
            if (source == THE_POSITION) {
                mark(module, end, !leaves_if_true);
                found = true;
            }
            next = leaves_if_true ? other : next;
        }
        block = next;
    }
    return found;
}
