/*
 * Cuts long blocks into short ones that follow each other. Instruction selection combines the
 * operations of a block at a time, and the register allocator splits live ranges within one: both
 * take time quadratic in the block's length. Requires that nothing joins the pieces again before
 * instruction selection (CodeGenPrepare would). Instructions and their order stay as they are.
 */
#include "compiler/driver/driver.h"

/* Variables are allocated once, in the first block: they come before what is cut off. */
static void allocate_first(LLVMBuilderRef builder, LLVMBasicBlockRef entry) {
    LLVMValueRef first = LLVMGetFirstInstruction(entry), next;
    while (LLVMIsAAllocaInst(first)) {
        first = LLVMGetNextInstruction(first);
    }
    LLVMPositionBuilderBefore(builder, first);
    for (LLVMValueRef in = first; in; in = next) {
        next = LLVMGetNextInstruction(in);
        if (LLVMIsAAllocaInst(in)) {
            LLVMInstructionRemoveFromParent(in);
            LLVMInsertIntoBuilder(builder, in);
        }
    }
}

/* Moves the first instructions of the block, with all phis and variables, to a new one before it.
 * Returns how many. */
static unsigned cut_front(LLVMBuilderRef builder, LLVMBasicBlockRef block, unsigned length) {
    LLVMContextRef context =
        LLVMGetModuleContext(LLVMGetGlobalParent(LLVMGetBasicBlockParent(block)));
    LLVMBasicBlockRef front = LLVMInsertBasicBlockInContext(context, block, "");
    /* without its end, so that phis of later blocks still come from this one */
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    LLVMInstructionRemoveFromParent(end);
    LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(block), LLVMBasicBlockAsValue(front));
    LLVMPositionBuilderAtEnd(builder, front);
    unsigned moved = 0;
    for (LLVMValueRef in = LLVMGetFirstInstruction(block), next; in; in = next) {
        if (moved >= length && !LLVMIsAPHINode(in) && !LLVMIsAAllocaInst(in)) {
            break;
        }
        next = LLVMGetNextInstruction(in);
        LLVMInstructionRemoveFromParent(in);
        LLVMInsertIntoBuilder(builder, in);
        moved++;
    }
    LLVMBuildBr(builder, block);
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMInsertIntoBuilder(builder, end);
    return moved;
}

static unsigned block_length(LLVMBasicBlockRef block) {
    unsigned length = 0;
    for (LLVMValueRef in = LLVMGetFirstInstruction(block); in; in = LLVMGetNextInstruction(in)) {
        length++;
    }
    return length;
}

void igc_cut_long_blocks(LLVMModuleRef module, unsigned length) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f)) {
            allocate_first(builder, LLVMGetEntryBasicBlock(f));
        }
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
            for (unsigned left = block_length(b); left > 2 * length;) {
                left -= cut_front(builder, b, length);
            }
        }
    }
    LLVMDisposeBuilder(builder);
}
