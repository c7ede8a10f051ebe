/* Small changes of a function's code that several passes make. */
#include "compiler/ir/edit.h"

#include <stdio.h>

#include "compiler/ir/walk.h"

void igi_replace(LLVMValueRef instruction, LLVMValueRef value) {
    LLVMReplaceAllUsesWith(instruction, value);
    LLVMInstructionEraseFromParent(instruction);
}

void igi_after_phis(LLVMBuilderRef builder, LLVMBasicBlockRef block) {
    LLVMPositionBuilderBefore(builder, igi_first_non_phi(block));
}

static void redirect(LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    igi_each_use_safe(use, LLVMBasicBlockAsValue(from)) {
        LLVMValueRef terminator = LLVMGetUser(use);
        unsigned count = LLVMIsATerminatorInst(terminator) ? LLVMGetNumSuccessors(terminator) : 0;
        for (unsigned s = 0; s < count; s++) {
            if (LLVMGetSuccessor(terminator, s) == from) {
                LLVMSetSuccessor(terminator, s, to);
            }
        }
    }
}

/* Names say what a variable is called, for reports. */
static void move_to_end(LLVMBuilderRef builder, LLVMValueRef instruction) {
    char name[128];
    size_t length;
    const char *own = LLVMGetValueName2(instruction, &length);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), own);
    LLVMInstructionRemoveFromParent(instruction);
    LLVMInsertIntoBuilderWithName(builder, instruction, name);
}

/* LLVM-C can change where a branch goes but not where a phi's value comes from, so the front
 * part moves: phis of the successors keep naming the old block. */
LLVMBasicBlockRef igi_split_before(LLVMBuilderRef builder, LLVMValueRef instruction) {
    LLVMBasicBlockRef tail = LLVMGetInstructionParent(instruction);
    LLVMValueRef function = LLVMGetBasicBlockParent(tail);
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(context, tail, "");
    LLVMPositionBuilderAtEnd(builder, head);
    for (LLVMValueRef in; (in = LLVMGetFirstInstruction(tail)) != instruction;) {
        move_to_end(builder, in);
    }
    redirect(tail, head);
    return head;
}
