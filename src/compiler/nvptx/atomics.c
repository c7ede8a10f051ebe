/*
 * Atomic additions of floats. The prelude writes them as loops of compare and exchange, which the
 * hardware has an instruction for:
 *
 *     seen = phi [load] [old]; sum = float(seen) + x; (old, done) = cmpxchg(p, seen, bits(sum))
 *
 * becomes an addition whose old value takes the place of `seen` after it, and done is true.
 */
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

static bool is_exchange(LLVMValueRef in) {
    return LLVMGetInstructionOpcode(in) == LLVMAtomicCmpXchg;
}

/* The operand of a bitcast from a type of this kind; NULL if it is none. */
static LLVMValueRef uncast(LLVMValueRef value, LLVMTypeKind from) {
    return LLVMIsABitCastInst(value) &&
                   LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(value, 0))) == from
               ? LLVMGetOperand(value, 0)
               : NULL;
}

/* The addend, when `sum` is float(seen) plus or minus something. */
static LLVMValueRef addend_of(struct igc_kernel *k, LLVMValueRef sum, LLVMValueRef seen) {
    LLVMOpcode opcode = LLVMIsAInstruction(sum) ? LLVMGetInstructionOpcode(sum) : LLVMRet;
    if (opcode != LLVMFAdd && opcode != LLVMFSub) {
        return NULL;
    }
    for (unsigned i = 0; i < (opcode == LLVMFAdd ? 2u : 1u); i++) {
        if (uncast(LLVMGetOperand(sum, i), LLVMIntegerTypeKind) == seen) {
            LLVMValueRef other = LLVMGetOperand(sum, 1 - i);
            LLVMPositionBuilderBefore(k->builder, sum);
            return opcode == LLVMFAdd ? other : LLVMBuildFNeg(k->builder, other, "");
        }
    }
    return NULL;
}

static bool used_once(LLVMValueRef value) {
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use);
}

/* The float that `seen` is cast to may also be the result: then that is the old value. */
static void drop_sum(LLVMValueRef wanted, LLVMValueRef sum, LLVMValueRef seen, LLVMValueRef old) {
    LLVMInstructionEraseFromParent(wanted);
    LLVMValueRef casts[2] = {LLVMGetOperand(sum, 0), LLVMGetOperand(sum, 1)};
    LLVMInstructionEraseFromParent(sum);
    for (unsigned i = 0; i < 2; i++) {
        if (uncast(casts[i], LLVMIntegerTypeKind) == seen) {
            igi_replace(casts[i], old);
            return;
        }
    }
}

static void lower_exchange(struct igc_kernel *k, LLVMValueRef exchange) {
    LLVMValueRef pointer = LLVMGetOperand(exchange, 0), seen = LLVMGetOperand(exchange, 1);
    LLVMValueRef wanted = LLVMGetOperand(exchange, 2), sum = uncast(wanted, LLVMFloatTypeKind);
    LLVMBasicBlockRef block = LLVMGetInstructionParent(exchange);
    if (!sum || !LLVMIsAPHINode(seen) || LLVMGetInstructionParent(seen) != block ||
        !used_once(wanted) || !used_once(sum)) {
        return;
    }
    LLVMValueRef addend = addend_of(k, sum, seen);
    if (!addend || addend == seen) {
        return;
    }
    igi_each_use(use, exchange) {
        if (!LLVMIsAExtractValueInst(LLVMGetUser(use))) {
            return;
        }
    }
    LLVMPositionBuilderBefore(k->builder, exchange);
    LLVMValueRef old = LLVMBuildAtomicRMW(k->builder, LLVMAtomicRMWBinOpFAdd, pointer, addend,
                                          LLVMAtomicOrderingMonotonic, false);
    LLVMValueRef bits = LLVMBuildBitCast(k->builder, old, LLVMTypeOf(seen), "");
    LLVMValueRef next;
    igi_while_used(use, exchange) {
        next = LLVMGetUser(use);
        igi_replace(next, LLVMGetIndices(next)[0] == 0
                              ? bits
                              : LLVMConstInt(LLVMInt1TypeInContext(k->context), 1, false));
    }
    LLVMInstructionEraseFromParent(exchange);
    drop_sum(wanted, sum, seen, old);
    for (unsigned i = 0; i < LLVMCountIncoming(seen); i++) {
        LLVMValueRef from = LLVMGetIncomingValue(seen, i);
        if (LLVMIsALoadInst(from) && used_once(from)) {
            igi_replace(from, LLVMGetUndef(LLVMTypeOf(from)));
        }
    }
    /* the loop is left after this iteration: uses of `seen` elsewhere see the old value */
    LLVMReplaceAllUsesWith(seen, bits);
    LLVMInstructionEraseFromParent(seen);
}

enum igc_result igp_lower_atomics(struct igc_kernel *kernel) {
    LLVMValueRef *found = igp_collect(kernel, is_exchange);
    for (LLVMValueRef *in = found; in && *in; in++) {
        lower_exchange(kernel, *in);
    }
    return found ? IGC_CHANGED : igc_result_of(igc_out_of_memory(kernel));
}
