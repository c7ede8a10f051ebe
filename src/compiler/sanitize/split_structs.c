/*
 * Variables that are structs with pointers in them become a variable for each member, which the
 * next passes put into registers: a pointer that is loaded from memory is one that nobody knows the
 * root of, and its checks take long.
 *
 * Requires a kernel with everything inlined. Only structs of numbers, vectors and pointers, whose
 * members are loaded and stored one by one, or which are copied as a whole between variables. Does
 * not: arrays, and structs in structs.
 */
#include <string.h>

#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/shadow.h"

enum { MOST_MEMBERS = 32 };

static bool is_single(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind;
}

static bool has_form(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    if (!LLVMIsAAllocaInst(in) || !LLVMIsAConstantInt(LLVMGetOperand(in, 0)) ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(in, 0)) != 1) {
        return false;
    }
    LLVMTypeRef type = LLVMGetAllocatedType(in);
    if (LLVMGetTypeKind(type) != LLVMStructTypeKind || LLVMCountStructElementTypes(type) < 2 ||
        LLVMCountStructElementTypes(type) > MOST_MEMBERS) {
        return false;
    }
    bool has_pointer = false;
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
        LLVMTypeRef member = LLVMStructGetTypeAtIndex(type, i);
        has_pointer |= LLVMGetTypeKind(member) == LLVMPointerTypeKind;
        if (!is_single(member)) {
            return false;
        }
    }
    return has_pointer;
}

static bool informs(LLVMValueRef user) {
    return igi_is_intrinsic(user) && igi_intrinsic_flags_of(user) & IGI_I_INFORMS;
}

/* ---- references to them ---- */

/* A parameter of a function that was inlined, with the address of such a variable in it, always the
 * same and from its declaration on: that variable. NULL: it is something else. */
static LLVMValueRef referred(struct igc_kernel *kernel, LLVMValueRef slot) {
    LLVMValueRef found = NULL;
    igi_each_use(use, slot) {
        LLVMValueRef user = LLVMGetUser(use);
        const bool is_load =
            LLVMIsALoadInst(user) && LLVMTypeOf(user) == LLVMGetAllocatedType(slot);
        if (is_load || (informs(user) && (igi_intrinsic_of(user) != IGI_LLVM_lifetime_start ||
                                          igs_is_stored_first(user, slot)))) {
            continue;
        }
        if (!LLVMIsAStoreInst(user) || LLVMGetOperand(user, 1) != slot ||
            (found && LLVMGetOperand(user, 0) != found)) {
            return NULL;
        }
        found = LLVMGetOperand(user, 0);
    }
    return found && LLVMIsAAllocaInst(found) && has_form(kernel, found) ? found : NULL;
}

static bool is_slot(struct igc_kernel *kernel, LLVMValueRef in) {
    return LLVMIsAAllocaInst(in) &&
           LLVMGetTypeKind(LLVMGetAllocatedType(in)) == LLVMPointerTypeKind && referred(kernel, in);
}

/* What is loaded from such a parameter is the variable; again for functions that hand it on. */
static bool follow_references(struct igc_kernel *kernel) {
    for (;;) {
        struct igc_list list = igc_collect(kernel, is_slot);
        if (list.failed || !list.count) {
            return !list.failed;
        }
        for (size_t i = 0; i < list.count; i++) {
            LLVMValueRef variable = referred(kernel, list.items[i]);
            igi_while_used(use, list.items[i]) {
                LLVMValueRef user = LLVMGetUser(use);
                if (LLVMIsALoadInst(user)) {
                    igi_replace(user, variable);
                } else {
                    LLVMInstructionEraseFromParent(user);
                }
            }
            LLVMInstructionEraseFromParent(list.items[i]);
        }
    }
}

/* ---- members ---- */

/* The member that is at an offset; -1: none begins there. */
static int member_at(struct igc_kernel *kernel, LLVMTypeRef type, uint64_t offset) {
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
        if (LLVMOffsetOfElement(kernel->layout, type, i) == offset) {
            return (int)i;
        }
    }
    return -1;
}

static LLVMValueRef variable_at(LLVMValueRef pointer) {
    while (LLVMIsAGetElementPtrInst(pointer)) {
        pointer = LLVMGetOperand(pointer, 0);
    }
    return LLVMIsAAllocaInst(pointer) ? pointer : NULL;
}

/* A copy of all of the variable, to or from another one. */
static bool is_whole_copy(struct igc_kernel *kernel, LLVMValueRef user, LLVMValueRef variable) {
    enum { TO, FROM, LENGTH, VOLATILE };
    if (!igi_is_intrinsic(user) || !(igi_intrinsic_flags_of(user) & IGI_I_COPIES) ||
        igi_intrinsic_of(user) == IGI_LLVM_memset) {
        return false;
    }
    LLVMValueRef to = LLVMGetOperand(user, TO), from = LLVMGetOperand(user, FROM);
    LLVMValueRef length = LLVMGetOperand(user, LENGTH), flag = LLVMGetOperand(user, VOLATILE);
    return (to == variable || from == variable) && to != from && variable_at(to) &&
           variable_at(from) && LLVMIsAConstantInt(length) &&
           LLVMConstIntGetZExtValue(length) ==
               LLVMABISizeOfType(kernel->layout, LLVMGetAllocatedType(variable)) &&
           LLVMIsAConstantInt(flag) && !LLVMConstIntGetZExtValue(flag);
}

/* A load or a store of a member, by a pointer into the variable. */
static bool is_of_member(struct igc_kernel *kernel, LLVMValueRef user, LLVMValueRef pointer,
                         LLVMValueRef variable) {
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    const bool is_load = LLVMIsALoadInst(user) != NULL;
    const bool is_store = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == pointer &&
                          LLVMGetOperand(user, 0) != pointer;
    uint64_t offset = 0;
    if ((!is_load && !is_store) || LLVMGetVolatile(user) ||
        LLVMGetOrdering(user) != LLVMAtomicOrderingNotAtomic ||
        !igs_constant_offset(kernel, pointer, variable, &offset)) {
        return false;
    }
    const int member = member_at(kernel, type, offset);
    LLVMTypeRef accessed = LLVMTypeOf(is_load ? user : LLVMGetOperand(user, 0));
    return member >= 0 && LLVMStructGetTypeAtIndex(type, (unsigned)member) == accessed;
}

static bool can_be_split(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef variable) {
    igi_each_use(use, pointer) {
        LLVMValueRef user = LLVMGetUser(use);
        bool is_good = is_of_member(kernel, user, pointer, variable);
        if (pointer == variable) {
            is_good |= informs(user) || is_whole_copy(kernel, user, variable);
        }
        if (!is_good &&
            (!LLVMIsAGetElementPtrInst(user) || !can_be_split(kernel, user, variable))) {
            return false;
        }
    }
    return true;
}

/* A copy becomes loads and stores of the members. */
static void copy_members(struct igc_kernel *kernel, LLVMValueRef copy, LLVMTypeRef type) {
    LLVMBuilderRef b = kernel->builder;
    LLVMPositionBuilderBefore(b, copy);
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
        uint64_t offset = LLVMOffsetOfElement(kernel->layout, type, i);
        LLVMValueRef from = igc_byte_offset(kernel, LLVMGetOperand(copy, 1), offset);
        LLVMValueRef to = igc_byte_offset(kernel, LLVMGetOperand(copy, 0), offset);
        LLVMValueRef value = LLVMBuildLoad2(b, LLVMStructGetTypeAtIndex(type, i), from, "");
        LLVMSetAlignment(value, 1);
        LLVMSetAlignment(LLVMBuildStore(b, value, to), 1);
    }
    LLVMInstructionEraseFromParent(copy);
}

static void expand_copies(struct igc_kernel *kernel, LLVMValueRef variable) {
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    for (bool found = true; found;) {
        found = false;
        igi_each_use(use, variable) {
            if (is_whole_copy(kernel, LLVMGetUser(use), variable)) {
                copy_members(kernel, LLVMGetUser(use), type);
                found = true;
                break; /* the list has changed */
            }
        }
    }
}

/* Loads, stores and steps, by a pointer into the variable, go to the members' own. */
static void move_uses(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef variable,
                      LLVMValueRef *members) {
    while (LLVMGetFirstUse(pointer)) {
        LLVMValueRef user = LLVMGetUser(LLVMGetFirstUse(pointer));
        uint64_t offset = 0;
        if (LLVMIsAGetElementPtrInst(user)) {
            move_uses(kernel, user, variable, members);
            LLVMInstructionEraseFromParent(user);
        } else if (informs(user)) { /* declarations are what mark-unwritten looks for */
            LLVMTypeRef type = LLVMGetAllocatedType(variable);
            unsigned last = (unsigned)LLVMGetNumArgOperands(user) - 1;
            for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
                LLVMValueRef own = LLVMInstructionClone(user);
                LLVMSetOperand(own, last, members[i]);
                if (last == 1) {
                    LLVMTypeRef member = LLVMStructGetTypeAtIndex(type, i);
                    LLVMSetOperand(
                        own, 0,
                        igc_integer(kernel->i64, LLVMStoreSizeOfType(kernel->layout, member)));
                }
                LLVMPositionBuilderBefore(kernel->builder, user);
                LLVMInsertIntoBuilder(kernel->builder, own);
            }
            LLVMInstructionEraseFromParent(user);
        } else {
            igs_constant_offset(kernel, pointer, variable, &offset);
            int member = member_at(kernel, LLVMGetAllocatedType(variable), offset);
            LLVMSetOperand(user, LLVMIsALoadInst(user) ? 0 : 1, members[member]);
        }
    }
}

static void split(struct igc_kernel *kernel, LLVMValueRef variable) {
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    LLVMValueRef members[MOST_MEMBERS];
    size_t length = 0;
    /* reports leave out what is behind the dot */
    const char *name =
        ig_arena_printf(kernel->arena, "%s.member", LLVMGetValueName2(variable, &length));
    expand_copies(kernel, variable);
    LLVMPositionBuilderBefore(kernel->builder, variable);
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
        members[i] = LLVMBuildAlloca(kernel->builder, LLVMStructGetTypeAtIndex(type, i), "");
        LLVMSetValueName2(members[i], name ? name : "", name ? strlen(name) : 0);
    }
    move_uses(kernel, variable, variable, members);
    LLVMInstructionEraseFromParent(variable);
}

enum igc_result igs_split_structs(struct igc_kernel *kernel) {
    bool is_changed = false, is_good = follow_references(kernel);
    struct igc_list list = igc_collect(kernel, has_form);
    if (list.failed || !is_good) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        if (can_be_split(kernel, list.items[i], list.items[i])) {
            split(kernel, list.items[i]);
            is_changed = true;
        }
    }
    return is_changed || list.count ? IGC_CHANGED : IGC_UNCHANGED;
}
