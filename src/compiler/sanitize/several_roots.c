/*
 * Pointers that may point into one of several variables, tables or arguments: how far from the
 * start of the one that it is, and how large that is, as values beside the pointer. And constant
 * pointers from memory, which may point into any table of the program.
 *
 * Looks through getelementptr, casts, phis and selects. Does not know pointers that were loaded.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { MOST_PHIS = 64, MOST_TABLES = 64, OFFSET = 0, BYTES = 1 };

struct igs_several {
    struct igi_map numbers; /* of phis that have others beside them */
    LLVMValueRef values[MOST_PHIS][2];
    unsigned count;
};

/* What a pointer is some steps from. */
static LLVMValueRef leaf_of(LLVMValueRef pointer) {
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer) ||
           LLVMIsAFreezeInst(pointer)) {
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer;
}

static unsigned choice_count(LLVMValueRef leaf) {
    return LLVMIsAPHINode(leaf) ? LLVMCountIncoming(leaf) : LLVMIsASelectInst(leaf) ? 2 : 0;
}

static LLVMValueRef choice(LLVMValueRef leaf, unsigned i) {
    return LLVMIsAPHINode(leaf) ? LLVMGetIncomingValue(leaf, i) : LLVMGetOperand(leaf, i + 1);
}

static bool is_variable(LLVMValueRef leaf) {
    return LLVMIsAGlobalVariable(leaf) ||
           (LLVMIsAAllocaInst(leaf) && LLVMIsAConstantInt(LLVMGetOperand(leaf, 0)));
}

static uint64_t bytes_of(struct igc_kernel *kernel, LLVMValueRef variable) {
    if (LLVMIsAGlobalVariable(variable)) {
        return LLVMABISizeOfType(kernel->layout, LLVMGlobalGetValueType(variable));
    }
    return LLVMABISizeOfType(kernel->layout, LLVMGetAllocatedType(variable)) *
           LLVMConstIntGetZExtValue(LLVMGetOperand(variable, 0));
}

static bool is_argument(LLVMValueRef leaf) {
    return igi_family_of(leaf) == IGI_FAMILY_ARGUMENT &&
           LLVMIsAConstantInt(LLVMGetOperand(leaf, 0));
}

/* Are all that it may point into variables or arguments? */
static bool is_known(LLVMValueRef pointer, struct igi_map *seen) {
    LLVMValueRef leaf = leaf_of(pointer);
    unsigned count = choice_count(leaf);
    if (!count || !igi_set_add(seen, leaf)) {
        return count || is_variable(leaf) || is_argument(leaf);
    }
    for (unsigned i = 0; i < count; i++) {
        if (!is_known(choice(leaf, i), seen)) {
            return false;
        }
    }
    return seen->count <= MOST_PHIS;
}

static bool build(struct igc_kernel *kernel, struct igs_several *several, LLVMValueRef pointer,
                  LLVMValueRef before, LLVMValueRef result[2]);

static bool build_phi(struct igc_kernel *kernel, struct igs_several *several, LLVMValueRef phi,
                      LLVMValueRef result[2]) {
    unsigned number = igi_map_get(&several->numbers, phi);
    if (number == IGI_NONE) {
        if (several->count == MOST_PHIS) {
            return false;
        }
        number = several->count++;
        igi_map_put(&several->numbers, phi, number);
        LLVMPositionBuilderBefore(kernel->builder, phi);
        for (unsigned k = 0; k < 2; k++) {
            several->values[number][k] = LLVMBuildPhi(kernel->builder, kernel->i64, "");
        }
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
            LLVMValueRef parts[2] = {igc_integer(kernel->i64, 0), igc_integer(kernel->i64, 0)};
            build(kernel, several, LLVMGetIncomingValue(phi, i), LLVMGetBasicBlockTerminator(from),
                  parts);
            for (unsigned k = 0; k < 2; k++) {
                LLVMAddIncoming(several->values[number][k], &parts[k], &from, 1);
            }
        }
    }
    result[OFFSET] = several->values[number][OFFSET];
    result[BYTES] = several->values[number][BYTES];
    return true;
}

static bool build_leaf(struct igc_kernel *kernel, struct igs_several *several, LLVMValueRef leaf,
                       LLVMValueRef before, LLVMValueRef result[2]) {
    if (is_variable(leaf)) {
        result[OFFSET] = igc_integer(kernel->i64, 0);
        result[BYTES] = igc_integer(kernel->i64, bytes_of(kernel, leaf));
        return true;
    }
    if (is_argument(leaf)) {
        struct igs_root root = igs_find_root(kernel, leaf);
        LLVMPositionBuilderBefore(kernel->builder, before);
        result[OFFSET] = igc_integer(kernel->i64, 0);
        result[BYTES] = igs_bound(kernel, &root);
        return true;
    }
    if (LLVMIsAPHINode(leaf)) {
        return build_phi(kernel, several, leaf, result);
    }
    LLVMValueRef one[2], other[2];
    if (!build(kernel, several, LLVMGetOperand(leaf, 1), before, one) ||
        !build(kernel, several, LLVMGetOperand(leaf, 2), before, other)) {
        return false;
    }
    LLVMPositionBuilderBefore(kernel->builder, before);
    for (unsigned k = 0; k < 2; k++) {
        result[k] = LLVMBuildSelect(kernel->builder, LLVMGetOperand(leaf, 0), one[k], other[k], "");
    }
    return true;
}

static bool build(struct igc_kernel *kernel, struct igs_several *several, LLVMValueRef pointer,
                  LLVMValueRef before, LLVMValueRef result[2]) {
    LLVMValueRef leaf = leaf_of(pointer);
    if (!build_leaf(kernel, several, leaf, before, result)) {
        return false;
    }
    LLVMPositionBuilderBefore(kernel->builder, before);
    if (leaf != pointer) {
        struct igs_root steps = {.base = leaf};
        igs_find_offset(kernel, &steps, pointer);
        result[OFFSET] = LLVMBuildAdd(kernel->builder, result[OFFSET], steps.offset, "");
    }
    return true;
}

/* Is [address, address + size) within one of the program's constants? NULL: there are none. Of very
 * many it is taken to be in one. */
LLVMValueRef igs_in_table(struct igc_kernel *kernel, LLVMValueRef address, LLVMValueRef size) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef result = NULL;
    unsigned count = 0;
    igi_each_global(table, kernel->module) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(table)) != INGOT_SPACE_CONSTANT ||
            LLVMIsDeclaration(table)) {
            continue;
        }
        if (++count > MOST_TABLES) {
            return igc_integer(kernel->i1, 1);
        }
        LLVMValueRef bytes = igc_integer(kernel->i64, bytes_of(kernel, table));
        LLVMValueRef start = LLVMConstPtrToInt(table, kernel->i64);
        LLVMValueRef offset = LLVMBuildSub(b, address, start, "");
        LLVMValueRef small = LLVMBuildICmp(b, LLVMIntULE, size, bytes, "");
        LLVMValueRef last = LLVMBuildSub(b, bytes, size, "");
        LLVMValueRef in =
            LLVMBuildAnd(b, small, LLVMBuildICmp(b, LLVMIntULE, offset, last, ""), "");
        result = result ? LLVMBuildOr(b, result, in, "") : in;
    }
    return result;
}

bool igs_find_object(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef before,
                     LLVMValueRef *offset, LLVMValueRef *bytes) {
    struct igi_map seen = {0};
    LLVMValueRef result[2] = {NULL, NULL};
    struct igs_several *several = kernel->places->several;
    igi_map_start(&seen, kernel->arena, 8);
    if (!is_known(pointer, &seen)) {
        return false;
    }
    if (!several) {
        several = kernel->places->several = ig_arena_alloc(kernel->arena, sizeof *several);
        if (!several) {
            igc_out_of_memory(kernel);
            return false;
        }
        igi_map_start(&several->numbers, kernel->arena, 8);
    }
    bool is_built = build(kernel, several, pointer, before, result);
    LLVMPositionBuilderBefore(kernel->builder, before);
    *offset = result[OFFSET];
    *bytes = result[BYTES];
    return is_built;
}
