/*
 * Variables that are structs of one pointer become variables of that pointer: what calls member
 * functions of an address space makes such structs, and mem2reg takes none of them.
 *
 * Requires a kernel with everything inlined. Provides pointers that the next passes put into
 * registers. Does not: structs with more in them.
 */
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

/* The pointer type that is all of a struct, or NULL. */
static LLVMTypeRef only_pointer(LLVMTypeRef type) {
    bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;
    while (LLVMGetTypeKind(type) == LLVMStructTypeKind && LLVMCountStructElementTypes(type) == 1) {
        type = LLVMStructGetTypeAtIndex(type, 0);
    }
    return is_struct && LLVMGetTypeKind(type) == LLVMPointerTypeKind ? type : NULL;
}

static bool is_wrapped(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    return LLVMIsAAllocaInst(in) && LLVMIsAConstantInt(LLVMGetOperand(in, 0)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(in, 0)) == 1 &&
           only_pointer(LLVMGetAllocatedType(in));
}

/* A step of nothing, to the first member. */
static bool is_no_step(LLVMValueRef user) {
    if (!LLVMIsAGetElementPtrInst(user)) {
        return false;
    }
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(user); i++) {
        LLVMValueRef index = LLVMGetOperand(user, i);
        if (!LLVMIsAConstantInt(index) || LLVMConstIntGetZExtValue(index)) {
            return false;
        }
    }
    return true;
}

enum igc_result igs_unwrap_pointers(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_wrapped);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef variable = list.items[i];
        LLVMPositionBuilderBefore(kernel->builder, variable);
        LLVMValueRef plain =
            LLVMBuildAlloca(kernel->builder, only_pointer(LLVMGetAllocatedType(variable)), "");
        LLVMSetAlignment(plain, LLVMGetAlignment(variable));
        igi_replace(variable, plain);
        igi_each_use_safe(use, plain) {
            if (is_no_step(LLVMGetUser(use))) {
                igi_replace(LLVMGetUser(use), plain);
            }
        }
    }
    return list.count ? IGC_CHANGED : IGC_UNCHANGED;
}
