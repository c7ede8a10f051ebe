/*
 * Private memory: how the copies of an alloca for the 32 lanes lie in memory.
 *
 * Lane-interleaved in granules when everything that happens to the alloca is known: loads and
 * stores through getelementptr, phi and select, at offsets that are multiples of the granule,
 * and of sizes that are multiples of it too. Then all lanes' element k lie side by side, and
 * an access at a uniform offset is one vector. Otherwise contiguous per lane, which is always
 * right.
 *
 * Provides: private_granule of allocas and of every pointer into an interleaved one.
 */
#include "compiler/analysis/analysis_internal.h"
#include "compiler/ir/walk.h"

#include <string.h>

struct pointers {
    struct igv_work *work;
    unsigned *list; /* value numbers: the alloca and what derives from it */
    unsigned count;
    bool *member;
    unsigned granule; /* smallest access so far, 0: none yet */
    unsigned largest; /* access, in bytes */
    uint64_t offsets; /* or of all element sizes and constant offsets that geps add */
    bool escapes;
};

static unsigned number_of(struct igv_work *work, LLVMValueRef instruction) {
    struct igv_value *value = igv_value_of(work->analysis, instruction);
    return value ? (unsigned)(value - work->analysis->values) : IGV_NONE;
}

static void add_pointer(struct pointers *set, LLVMValueRef pointer) {
    unsigned number = number_of(set->work, pointer);
    if (number == IGV_NONE) {
        set->escapes = true;
    } else if (!set->member[number]) {
        set->member[number] = true;
        set->list[set->count++] = number;
    }
}

static void add_access(struct pointers *set, LLVMTypeRef type, unsigned align) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    uint64_t size = LLVMStoreSizeOfType(set->work->layout, type);
    bool plain = kind == LLVMIntegerTypeKind || kind == LLVMPointerTypeKind ||
                 kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ||
                 kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
    if (!plain || (size != 1 && size != 2 && size != 4 && size != 8)) {
        set->escapes = true;
        return;
    }
    unsigned granule = align && align < size ? align : (unsigned)size;
    if (!set->granule || granule < set->granule) {
        set->granule = granule;
    }
    if (size > set->largest) {
        set->largest = (unsigned)size;
    }
}

static void add_gep(struct pointers *set, LLVMValueRef gep) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned count = (unsigned)LLVMGetNumOperands(gep);
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        bool constant = LLVMIsAConstantInt(index) != NULL;
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            set->offsets |= LLVMOffsetOfElement(set->work->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) {
            type = LLVMGetElementType(type);
        }
        uint64_t size = LLVMABISizeOfType(set->work->layout, type);
        set->offsets |= constant ? size * (uint64_t)LLVMConstIntGetSExtValue(index) : size;
    }
    add_pointer(set, gep);
}

static void add_user(struct pointers *set, LLVMValueRef pointer, LLVMValueRef user) {
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMLoad:
        if (LLVMGetOrdering(user) != LLVMAtomicOrderingNotAtomic) {
            set->escapes = true;
        }
        add_access(set, LLVMTypeOf(user), LLVMGetAlignment(user));
        return;
    case LLVMStore:
        if (LLVMGetOperand(user, 0) == pointer ||
            LLVMGetOrdering(user) != LLVMAtomicOrderingNotAtomic) {
            set->escapes = true;
        }
        add_access(set, LLVMTypeOf(LLVMGetOperand(user, 0)), LLVMGetAlignment(user));
        return;
    case LLVMGetElementPtr:
        add_gep(set, user);
        return;
    case LLVMPHI:
    case LLVMSelect:
        add_pointer(set, user);
        return;
    default:
        set->escapes = true;
    }
}

/* Phis and selects may only choose between pointers into this alloca. */
static bool choices_stay(const struct pointers *set, LLVMValueRef instruction) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    bool phi = opcode == LLVMPHI;
    unsigned count = phi ? LLVMCountIncoming(instruction) : opcode == LLVMSelect ? 2 : 0;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef choice =
            phi ? LLVMGetIncomingValue(instruction, i) : LLVMGetOperand(instruction, i + 1);
        unsigned number = number_of(set->work, choice);
        bool inside = number != IGV_NONE && set->member[number];
        if (!inside && !LLVMIsUndef(choice)) {
            return false;
        }
    }
    return true;
}

static unsigned granule_for(struct pointers *set, unsigned alloca) {
    struct igv_value *values = set->work->analysis->values;
    LLVMValueRef count = LLVMGetOperand(values[alloca].value, 0);
    if (!LLVMIsAConstantInt(count)) {
        return 0;
    }
    set->count = 0;
    set->granule = 0;
    set->largest = 0;
    set->offsets = 0;
    set->escapes = false;
    add_pointer(set, values[alloca].value);
    for (unsigned i = 0; i < set->count && !set->escapes; i++) {
        LLVMValueRef pointer = values[set->list[i]].value;
        igi_each_use(use, pointer) {
            add_user(set, pointer, LLVMGetUser(use));
        }
    }
    for (unsigned i = 0; i < set->count && !set->escapes; i++) {
        set->escapes = !choices_stay(set, values[set->list[i]].value);
    }
    if (set->escapes || !set->granule) {
        return 0;
    }
    unsigned granule = set->granule;
    while (set->offsets & (granule - 1)) {
        granule /= 2;
    }
    /* More than four pieces to an access cost more than a gather. */
    return set->largest > 4 * granule ? 0 : granule;
}

ingot_status igv_private_plan(struct igv_work *work) {
    struct igv_analysis *analysis = work->analysis;
    struct pointers set = {.work = work};
    set.list = ig_arena_array(work->arena, analysis->value_count + 1u, sizeof *set.list);
    set.member = ig_arena_array(work->arena, analysis->value_count + 1u, sizeof *set.member);
    if (!set.list || !set.member) {
        return igi_out_of_memory(work->error);
    }
    for (unsigned i = 0; i < analysis->value_count; i++) {
        if (LLVMGetInstructionOpcode(analysis->values[i].value) != LLVMAlloca) {
            continue;
        }
        unsigned granule = granule_for(&set, i);
        for (unsigned p = 0; p < set.count; p++) {
            set.member[set.list[p]] = false;
            analysis->values[set.list[p]].private_granule = granule;
        }
        set.count = 0;
    }
    return INGOT_OK;
}
