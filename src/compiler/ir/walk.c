/* The steps of the walks in walk.h, and lists of instructions. Changes nothing. */
#include "compiler/ir/walk.h"

LLVMValueRef igi_first_symbol(LLVMModuleRef module) {
    LLVMValueRef first = LLVMGetFirstFunction(module);
    return first ? first : LLVMGetFirstGlobal(module);
}

LLVMValueRef igi_next_symbol(LLVMValueRef symbol) {
    if (!LLVMIsAFunction(symbol)) {
        return LLVMGetNextGlobal(symbol);
    }
    LLVMValueRef next = LLVMGetNextFunction(symbol);
    return next ? next : LLVMGetFirstGlobal(LLVMGetGlobalParent(symbol));
}

static LLVMValueRef first_from(LLVMBasicBlockRef block) {
    LLVMValueRef first = NULL;
    while (block && !(first = LLVMGetFirstInstruction(block))) {
        block = LLVMGetNextBasicBlock(block);
    }
    return first;
}

LLVMValueRef igi_first_instruction(LLVMValueRef function) {
    return first_from(LLVMGetFirstBasicBlock(function));
}

LLVMValueRef igi_next_instruction(LLVMValueRef instruction) {
    LLVMValueRef next = LLVMGetNextInstruction(instruction);
    return next ? next : first_from(LLVMGetNextBasicBlock(LLVMGetInstructionParent(instruction)));
}

LLVMValueRef igi_first_phi(LLVMBasicBlockRef block) {
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    return first && LLVMIsAPHINode(first) ? first : NULL;
}

LLVMValueRef igi_next_phi(LLVMValueRef phi) {
    LLVMValueRef next = LLVMGetNextInstruction(phi);
    return next && LLVMIsAPHINode(next) ? next : NULL;
}

LLVMValueRef igi_first_non_phi(LLVMBasicBlockRef block) {
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    while (first && LLVMIsAPHINode(first)) {
        first = LLVMGetNextInstruction(first);
    }
    return first;
}

LLVMBasicBlockRef igi_next_block(LLVMBasicBlockRef block) {
    return LLVMGetNextBasicBlock(block);
}

unsigned igi_block_length(LLVMBasicBlockRef block) {
    unsigned length = 0;
    igi_each_in_block(in, block) {
        length++;
    }
    return length;
}

LLVMValueRef *igi_collect(struct ig_arena *arena, LLVMValueRef function, igi_wanted_fn *wanted,
                          void *context, size_t *count) {
    LLVMValueRef *list = NULL;
    size_t found = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            list = ig_arena_array(arena, found + 1, sizeof *list);
            if (!list) {
                return NULL;
            }
        }
        found = 0;
        igi_each_instruction(in, function) {
            if (wanted(context, in)) {
                if (pass) {
                    list[found] = in;
                }
                found++;
            }
        }
    }
    if (count) {
        *count = found;
    }
    return list;
}
