/*
 * Walks over a module. The loops of the compiler over functions, global variables, blocks and
 * instructions are these; none is written by hand.
 *
 *     igi_each_function(f, module)      igi_each_global(g, module)      igi_each_symbol(v, module)
 *     igi_each_block(b, function)       igi_each_instruction(in, function)   all blocks' in order
 *     igi_each_in_block(in, block)      igi_each_phi(phi, block)
 *     igi_each_from(in, first)          igi_each_before(in, first, end)      of first's block
 *     igi_each_use(use, value)          igi_while_used(use, value)     the body takes each away
 *
 * Each names the loop's variable. The body may insert before the current item. It may remove or
 * erase the current item in the form with _safe only, which has looked at the next one before the
 * body runs; it must not erase that one.
 *
 * Names of ir/ begin with igi_: what is true of LLVM's intermediate representation for everybody.
 */
#ifndef INGOT_COMPILER_IR_WALK_H
#define INGOT_COMPILER_IR_WALK_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

#define IGI_EACH(type, item, first, next)                                                          \
    for (type item = (first); (item) != NULL; (item) = next(item))
#define IGI_EACH_SAFE(type, item, first, next)                                                     \
    for (type item = (first), item##_next = (item) ? next(item) : NULL; (item) != NULL;            \
         (item) = item##_next, item##_next = (item) ? next(item) : NULL)

#define igi_each_function(f, module)                                                               \
    IGI_EACH(LLVMValueRef, f, LLVMGetFirstFunction(module), LLVMGetNextFunction)
#define igi_each_function_safe(f, module)                                                          \
    IGI_EACH_SAFE(LLVMValueRef, f, LLVMGetFirstFunction(module), LLVMGetNextFunction)
#define igi_each_global(g, module)                                                                 \
    IGI_EACH(LLVMValueRef, g, LLVMGetFirstGlobal(module), LLVMGetNextGlobal)
#define igi_each_global_safe(g, module)                                                            \
    IGI_EACH_SAFE(LLVMValueRef, g, LLVMGetFirstGlobal(module), LLVMGetNextGlobal)
/* Functions, then global variables. */
#define igi_each_symbol(v, module)                                                                 \
    IGI_EACH(LLVMValueRef, v, igi_first_symbol(module), igi_next_symbol)
#define igi_each_block(b, function)                                                                \
    IGI_EACH(LLVMBasicBlockRef, b, LLVMGetFirstBasicBlock(function), LLVMGetNextBasicBlock)
#define igi_each_block_safe(b, function)                                                           \
    IGI_EACH_SAFE(LLVMBasicBlockRef, b, LLVMGetFirstBasicBlock(function), LLVMGetNextBasicBlock)
#define igi_each_in_block(in, block)                                                               \
    IGI_EACH(LLVMValueRef, in, LLVMGetFirstInstruction(block), LLVMGetNextInstruction)
#define igi_each_in_block_safe(in, block)                                                          \
    IGI_EACH_SAFE(LLVMValueRef, in, LLVMGetFirstInstruction(block), LLVMGetNextInstruction)
#define igi_each_instruction(in, function)                                                         \
    IGI_EACH(LLVMValueRef, in, igi_first_instruction(function), igi_next_instruction)
#define igi_each_instruction_safe(in, function)                                                    \
    IGI_EACH_SAFE(LLVMValueRef, in, igi_first_instruction(function), igi_next_instruction)
#define igi_each_from(in, first)      IGI_EACH(LLVMValueRef, in, first, LLVMGetNextInstruction)
#define igi_each_from_safe(in, first) IGI_EACH_SAFE(LLVMValueRef, in, first, LLVMGetNextInstruction)
/* From `first` to the instruction before `end`, or to the end of the block if that does not come.
 */
#define igi_each_before(in, first, end)                                                            \
    for (LLVMValueRef in = (first); (in) != NULL && (in) != (end);                                 \
         (in) = LLVMGetNextInstruction(in))
#define igi_each_phi(phi, block) IGI_EACH(LLVMValueRef, phi, igi_first_phi(block), igi_next_phi)
#define igi_each_phi_safe(phi, block)                                                              \
    IGI_EACH_SAFE(LLVMValueRef, phi, igi_first_phi(block), igi_next_phi)
#define igi_each_use(use, value) IGI_EACH(LLVMUseRef, use, LLVMGetFirstUse(value), LLVMGetNextUse)
#define igi_each_use_safe(use, value)                                                              \
    IGI_EACH_SAFE(LLVMUseRef, use, LLVMGetFirstUse(value), LLVMGetNextUse)
/* The first use, until there is none: the body takes each away. */
#define igi_while_used(use, value)                                                                 \
    for (LLVMUseRef use = LLVMGetFirstUse(value); (use) != NULL; (use) = LLVMGetFirstUse(value))

LLVMValueRef igi_first_symbol(LLVMModuleRef module);
LLVMValueRef igi_next_symbol(LLVMValueRef symbol);
/* The first instruction of a function, and the next one, that of a later block behind a block's
 * last one; NULL at the end. */
LLVMValueRef igi_first_instruction(LLVMValueRef function);
LLVMValueRef igi_next_instruction(LLVMValueRef instruction);
/* Phis stand at the beginning of a block; NULL where there is none (more). */
LLVMValueRef igi_first_phi(LLVMBasicBlockRef block);
LLVMValueRef igi_next_phi(LLVMValueRef phi);
/* What comes behind the phis. */
LLVMValueRef igi_first_non_phi(LLVMBasicBlockRef block);
/* The block that follows in the function's order; NULL: it is the last. */
LLVMBasicBlockRef igi_next_block(LLVMBasicBlockRef block);
unsigned igi_block_length(LLVMBasicBlockRef block); /* instructions */

/* Every instruction of the function for which `wanted`, in order, so that they can be replaced
 * while they are gone through. In the arena, NULL-terminated; NULL when memory is out. */
typedef bool igi_wanted_fn(void *context, LLVMValueRef instruction);
LLVMValueRef *igi_collect(struct ig_arena *arena, LLVMValueRef function, igi_wanted_fn *wanted,
                          void *context, size_t *count);

#endif
