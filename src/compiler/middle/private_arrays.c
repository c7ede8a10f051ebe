/*
 * Private arrays: an access at an index that is not known goes to a spare place behind the array
 * when the index is out of range, so that it harms nothing else.
 *
 * Programs do this, and get away with it on GPUs: threads past the end of a row that run a loop
 * from a negative start, and whose results nobody uses.
 *
 * Requires: scalars only. Provides: no access through getelementptr alone leaves its alloca.
 * Does not: check pointers that a phi or a select chose.
 */
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

/* alloca + offset + the sum of index * scale */
struct place {
    LLVMValueRef alloca, index; /* index: i64, or NULL if the offset is all */
    uint64_t scale;
    int64_t offset;
};

static bool is_access(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    return opcode == LLVMLoad || opcode == LLVMStore;
}

static bool is_opcode(LLVMValueRef value, LLVMOpcode opcode) {
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

static void add_index(struct igc_kernel *kernel, struct place *place, LLVMValueRef index,
                      uint64_t size) {
    LLVMBuilderRef b = kernel->builder;
    if (LLVMIsAConstantInt(index)) {
        place->offset += LLVMConstIntGetSExtValue(index) * (int64_t)size;
        return;
    }
    index = LLVMBuildIntCast2(b, index, kernel->i64, true, "");
    if (!place->index) {
        place->index = index;
        place->scale = size;
        return;
    }
    uint64_t common = size | place->scale;
    common &= ~common + 1; /* the greatest power of two in both */
    LLVMValueRef one = igc_integer(kernel->i64, place->scale / common);
    LLVMValueRef two = igc_integer(kernel->i64, size / common);
    place->index = LLVMBuildAdd(b, LLVMBuildMul(b, place->index, one, ""),
                                LLVMBuildMul(b, index, two, ""), "");
    place->scale = common;
}

static void add_gep(struct igc_kernel *kernel, struct place *place, LLVMValueRef gep) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned count = (unsigned)LLVMGetNumOperands(gep);
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            place->offset += (int64_t)LLVMOffsetOfElement(kernel->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) {
            type = LLVMGetElementType(type);
        }
        add_index(kernel, place, index, LLVMABISizeOfType(kernel->layout, type));
    }
}

static LLVMValueRef pointer_of(LLVMValueRef access) {
    return LLVMGetOperand(access, LLVMGetInstructionOpcode(access) == LLVMLoad ? 0 : 1);
}

/* The alloca that the address lies in by getelementptr with unknown indices, or NULL. */
static LLVMValueRef indexed_alloca(LLVMValueRef pointer) {
    bool unknown = false;
    while (is_opcode(pointer, LLVMGetElementPtr)) {
        for (int i = 1; i < LLVMGetNumOperands(pointer); i++) {
            unknown |= !LLVMIsAConstantInt(LLVMGetOperand(pointer, (unsigned)i));
        }
        pointer = LLVMGetOperand(pointer, 0);
    }
    return unknown && is_opcode(pointer, LLVMAlloca) &&
                   LLVMIsAConstantInt(LLVMGetOperand(pointer, 0))
               ? pointer
               : NULL;
}

static bool reaches_access(LLVMValueRef pointer, LLVMValueRef alloca) {
    igi_each_use(use, pointer) {
        LLVMValueRef user = LLVMGetUser(use);
        if (is_opcode(user, LLVMGetElementPtr)
                ? reaches_access(user, alloca)
                : is_access(NULL, user) && indexed_alloca(pointer_of(user)) == alloca) {
            return true;
        }
    }
    return false;
}

static bool is_indexed(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return is_opcode(instruction, LLVMAlloca) && reaches_access(instruction, instruction);
}

static uint64_t alloca_size(struct igc_kernel *kernel, LLVMValueRef alloca) {
    return LLVMConstIntGetZExtValue(LLVMGetOperand(alloca, 0)) *
           LLVMABISizeOfType(kernel->layout, LLVMGetAllocatedType(alloca));
}

static void enlarge(struct igc_kernel *kernel, LLVMValueRef alloca, uint64_t bytes) {
    LLVMPositionBuilderBefore(kernel->builder, alloca);
    LLVMValueRef larger = LLVMBuildAlloca(kernel->builder, LLVMArrayType2(kernel->i8, bytes), "");
    LLVMSetAlignment(larger, LLVMGetAlignment(alloca));
    igi_replace(alloca, larger);
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Gives the access its checked address; returns how many bytes the alloca must have. */
static uint64_t check_access(struct igc_kernel *kernel, LLVMValueRef access, uint64_t size) {
    bool load = LLVMGetInstructionOpcode(access) == LLVMLoad;
    unsigned operand = load ? 0 : 1;
    LLVMValueRef pointer = LLVMGetOperand(access, operand);
    LLVMTypeRef type = LLVMTypeOf(load ? access : LLVMGetOperand(access, 0));
    int64_t bytes = (int64_t)LLVMStoreSizeOfType(kernel->layout, type);
    struct place place = {0};
    LLVMBuilderRef b = kernel->builder;
    LLVMPositionBuilderBefore(b, access);
    for (; is_opcode(pointer, LLVMGetElementPtr); pointer = LLVMGetOperand(pointer, 0)) {
        add_gep(kernel, &place, pointer);
    }
    int64_t scale = (int64_t)place.scale, space = (int64_t)size - bytes - place.offset;
    if (!place.index || !scale || scale > INT32_MAX) {
        return size;
    }

    int64_t first = -floor_divide(place.offset, scale), last = floor_divide(space, scale);
    int64_t spare = -floor_divide(place.offset - (int64_t)size, scale);
    LLVMValueRef from = LLVMBuildSub(b, place.index, igc_integer(kernel->i64, (uint64_t)first), "");
    LLVMValueRef valid =
        last < first ? LLVMConstNull(kernel->i1)
                     : LLVMBuildICmp(b, LLVMIntULE, from,
                                     igc_integer(kernel->i64, (uint64_t)(last - first)), "");
    LLVMValueRef index =
        LLVMBuildSelect(b, valid, place.index, igc_integer(kernel->i64, (uint64_t)spare), "");
    LLVMTypeRef element = LLVMArrayType2(kernel->i8, place.scale);
    LLVMValueRef start = igc_byte_offset(kernel, pointer, (uint64_t)place.offset);
    LLVMSetOperand(access, operand, LLVMBuildGEP2(b, element, start, &index, 1, ""));
    return (uint64_t)(place.offset + spare * scale + bytes);
}

static void check_alloca(struct igc_kernel *kernel, const struct igc_list *accesses,
                         LLVMValueRef alloca) {
    uint64_t size = alloca_size(kernel, alloca), needed = size;
    for (size_t i = 0; i < accesses->count; i++) {
        LLVMValueRef access = accesses->items[i];
        if (indexed_alloca(pointer_of(access)) != alloca) {
            continue;
        }
        uint64_t bytes = check_access(kernel, access, size);
        needed = bytes > needed ? bytes : needed;
    }
    if (needed > size) {
        enlarge(kernel, alloca, needed);
    }
}

enum igc_result igc_check_private_arrays(struct igc_kernel *kernel) {
    struct igc_list allocas = igc_collect(kernel, is_indexed);
    struct igc_list accesses = igc_collect(kernel, is_access);
    if (allocas.failed || accesses.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < allocas.count; i++) {
        check_alloca(kernel, &accesses, allocas.items[i]);
    }
    return allocas.count ? IGC_CHANGED : IGC_UNCHANGED;
}
