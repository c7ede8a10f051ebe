/* Small changes of a function's code that several passes make. */
#ifndef INGOT_COMPILER_IR_EDIT_H
#define INGOT_COMPILER_IR_EDIT_H

#include <llvm-c/Core.h>

/* `value` replaces every use; the instruction goes. */
void igi_replace(LLVMValueRef instruction, LLVMValueRef value);
/* Puts the builder behind the phis of the block. */
void igi_after_phis(LLVMBuilderRef builder, LLVMBasicBlockRef block);
/* Everything before `instruction` goes into a new block before it, which is returned and has no
 * terminator yet; whoever branched to the old block branches to the new one. The builder stands at
 * the new block's end. */
LLVMBasicBlockRef igi_split_before(LLVMBuilderRef builder, LLVMValueRef instruction);

#endif
