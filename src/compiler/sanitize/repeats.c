/*
 * race: accesses that say nothing new. A thread that has accessed a place, and accesses it again
 * with nothing between that could order another thread's access, is told once: x[i] = f(x[i]) is
 * one store, which is marked as a load as well. Stores of the same value are no race, but a load
 * and a store of the same value are.
 *
 * Only within a basic block, where both happen for the same threads, and not in kernels with
 * fences.
 */
#include "compiler/sanitize/sanitize.h"

/* Expressions of more levels are not compared, nor accesses that are further apart. */
enum { MOST_LEVELS = 8, MOST_BETWEEN = 96 };

static bool is_constant_load(LLVMValueRef instruction) {
    return LLVMIsALoadInst(instruction) && !LLVMGetVolatile(instruction) &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(instruction, 0))) ==
               INGOT_SPACE_CONSTANT;
}

/* Is its value the same wherever its operands are? */
static bool is_pure(LLVMValueRef instruction) {
    return LLVMIsAGetElementPtrInst(instruction) || LLVMIsABinaryOperator(instruction) ||
           LLVMIsACastInst(instruction) || is_constant_load(instruction);
}

/* Are the two the same number in each thread? False: nobody knows. */
static bool is_same(LLVMValueRef a, LLVMValueRef b, unsigned levels) {
    if (a == b) {
        return true;
    }
    if (!levels || !LLVMIsAInstruction(a) || !LLVMIsAInstruction(b) ||
        LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b) || !is_pure(a) || !is_pure(b) ||
        LLVMTypeOf(a) != LLVMTypeOf(b) || LLVMGetNumOperands(a) != LLVMGetNumOperands(b) ||
        (LLVMIsAGetElementPtrInst(a) &&
         LLVMGetGEPSourceElementType(a) != LLVMGetGEPSourceElementType(b))) {
        return false;
    }
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(a); i++) {
        if (!is_same(LLVMGetOperand(a, i), LLVMGetOperand(b, i), levels - 1)) {
            return false;
        }
    }
    return true;
}

/* A plain load or store: where, and of which type; false: it is something else. */
static bool is_plain(LLVMValueRef instruction, LLVMValueRef *pointer, LLVMTypeRef *type) {
    if (LLVMIsALoadInst(instruction)) {
        *pointer = LLVMGetOperand(instruction, 0);
        *type = LLVMTypeOf(instruction);
    } else if (LLVMIsAStoreInst(instruction)) {
        *pointer = LLVMGetOperand(instruction, 1);
        *type = LLVMTypeOf(LLVMGetOperand(instruction, 0));
    } else {
        return false;
    }
    return !LLVMGetVolatile(instruction) &&
           LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
}

/* The later of two accesses of one place, and the earlier one: one of them may say it all. */
static void join(const struct igc_list *list, size_t earlier, size_t later,
                 enum igs_repeat *repeats) {
    const bool loads_first = LLVMIsALoadInst(list->items[earlier]) != NULL;
    const bool loads_then = LLVMIsALoadInst(list->items[later]) != NULL;
    if (loads_then) {
        repeats[later] = IGS_REPEATED;
        repeats[earlier] = loads_first ? repeats[earlier] : IGS_UPDATED;
    } else if (loads_first) {
        repeats[earlier] = IGS_REPEATED;
        repeats[later] = IGS_UPDATED;
    } else if (repeats[earlier] == IGS_UPDATED) {
        repeats[later] = IGS_UPDATED;
    }
}

void igs_find_repeats(struct igc_kernel *kernel, const struct igc_list *list,
                      enum igs_repeat *repeats) {
    LLVMBasicBlockRef block = NULL;
    size_t first = 0;
    for (size_t i = 0; i < list->count; i++) {
        LLVMValueRef instruction = list->items[i], pointer, before;
        LLVMTypeRef type, type_before;
        repeats[i] = IGS_TOLD;
        if (LLVMGetInstructionParent(instruction) != block) {
            block = LLVMGetInstructionParent(instruction);
            first = i;
        }
        if (!igs_is_access(kernel, instruction)) { /* a barrier */
            first = i + 1;
            continue;
        }
        if (!is_plain(instruction, &pointer, &type)) {
            continue;
        }
        for (size_t k = i; k-- > first && i - k < MOST_BETWEEN && repeats[i] != IGS_REPEATED;) {
            if (repeats[k] != IGS_REPEATED && is_plain(list->items[k], &before, &type_before) &&
                LLVMStoreSizeOfType(kernel->layout, type) ==
                    LLVMStoreSizeOfType(kernel->layout, type_before) &&
                is_same(pointer, before, MOST_LEVELS)) {
                join(list, k, i, repeats);
            }
        }
    }
}
