/* Small changes of a function's code that several passes make. */
#include "compiler/ir/edit.h"

#include "compiler/ir/walk.h"

void igi_replace(LLVMValueRef instruction, LLVMValueRef value) {
    LLVMReplaceAllUsesWith(instruction, value);
    LLVMInstructionEraseFromParent(instruction);
}

void igi_after_phis(LLVMBuilderRef builder, LLVMBasicBlockRef block) {
    LLVMPositionBuilderBefore(builder, igi_first_non_phi(block));
}

static void redirect(LLVMValueRef function, LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    igi_each_block(b, function) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(b);
        unsigned count = terminator ? LLVMGetNumSuccessors(terminator) : 0;
        for (unsigned s = 0; s < count; s++) {
            if (LLVMGetSuccessor(terminator, s) == from) {
                LLVMSetSuccessor(terminator, s, to);
            }
        }
    }
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
        LLVMInstructionRemoveFromParent(in);
        LLVMInsertIntoBuilder(builder, in);
    }
    redirect(function, tail, head);
    return head;
}
