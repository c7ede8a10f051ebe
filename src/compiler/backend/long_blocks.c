/*
 * Cuts long blocks into short ones that follow each other. Instruction selection combines the
 * operations of a block at a time, and the register allocator splits live ranges within one: both
 * take time quadratic in the block's length. Requires that nothing joins the pieces again before
 * instruction selection (CodeGenPrepare would). Instructions and their order stay as they are.
 */
#include "compiler/backend/backend.h"
#include "compiler/ir/walk.h"

/* Variables are allocated once, in the first block: they come before what is cut off. */
static void allocate_first(LLVMBuilderRef builder, LLVMBasicBlockRef entry) {
    LLVMValueRef first = NULL;
    igi_each_in_block(in, entry) {
        if (!LLVMIsAAllocaInst(in)) {
            first = in;
            break;
        }
    }
    LLVMPositionBuilderBefore(builder, first);
    igi_each_from_safe(in, first) {
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
    igi_each_in_block_safe(in, block) {
        if (moved >= length && !LLVMIsAPHINode(in) && !LLVMIsAAllocaInst(in)) {
            break;
        }
        LLVMInstructionRemoveFromParent(in);
        LLVMInsertIntoBuilder(builder, in);
        moved++;
    }
    LLVMBuildBr(builder, block);
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMInsertIntoBuilder(builder, end);
    return moved;
}

void igc_cut_long_blocks(LLVMModuleRef module, unsigned length) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    igi_each_function(f, module) {
        if (!LLVMIsDeclaration(f)) {
            allocate_first(builder, LLVMGetEntryBasicBlock(f));
        }
        igi_each_block(b, f) {
            for (unsigned left = igi_block_length(b); left > 2 * length;) {
                left -= cut_front(builder, b, length);
            }
        }
    }
    LLVMDisposeBuilder(builder);
}
