/*
 * Vectors at any multiple of their elements, as programs for Apple's GPUs have them: an NVIDIA GPU
 * faults where 16 does not divide the address of a float4. The address of a vector is asked where
 * nothing else tells that it is a multiple; where it is none, elements go one by one.
 *
 * Requires the scalar kernel, with accesses as its source has them: before those that are next to
 * each other are joined. What is asked is the pointer that the address is computed from, if the
 * rest is multiples, so that it is the same in all turns of a loop. Copies of vectors, and of
 * structs with vectors, have no type any more: they go by quarters of their alignment, which are
 * elements or parts of them. Numbers and atomics are left as they are.
 */
#include "compiler/ir/edit.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

enum { MAX_DEPTH = 8 };

static LLVMTypeRef type_of(LLVMValueRef in) {
    return LLVMTypeOf(LLVMIsAStoreInst(in) ? LLVMGetOperand(in, 0) : in);
}

static LLVMValueRef pointer_of(LLVMValueRef in) {
    return LLVMGetOperand(in, LLVMIsAStoreInst(in) ? 1 : 0);
}

/* Bytes of an element; 0 if elements cannot be accessed one by one. */
static uint64_t element_bytes(LLVMTargetDataRef layout, LLVMTypeRef type) {
    LLVMTypeRef element = LLVMGetElementType(type);
    LLVMTypeKind kind = LLVMGetTypeKind(element);
    bool is_number = kind == LLVMIntegerTypeKind || kind == LLVMFloatTypeKind ||
                     kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
    uint64_t bits = is_number ? LLVMSizeOfTypeInBits(layout, element) : 0;
    return bits % 8 == 0 ? bits / 8 : 0;
}

/* A vector, or a part of a struct that is one, in memory of the host's choice. */
static bool is_wanted(struct igc_kernel *kernel, LLVMValueRef in) {
    if ((!LLVMIsALoadInst(in) && !LLVMIsAStoreInst(in)) || LLVMGetVolatile(in) ||
        LLVMGetOrdering(in) != LLVMAtomicOrderingNotAtomic ||
        LLVMGetTypeKind(type_of(in)) != LLVMVectorTypeKind) {
        return false;
    }
    uint64_t bytes = element_bytes(kernel->layout, type_of(in));
    return bytes && LLVMGetAlignment(in) > bytes;
}

/* Is an integer a multiple of `unit`, a power of two? */
static bool is_multiple(LLVMValueRef value, uint64_t unit, unsigned depth) {
    if (unit <= 1) {
        return true;
    }
    if (LLVMIsAConstantInt(value)) {
        return LLVMConstIntGetZExtValue(value) % unit == 0;
    }
    if (!LLVMIsAInstruction(value) || depth == 0) {
        return false;
    }
    LLVMValueRef a = LLVMGetOperand(value, 0);
    LLVMValueRef b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
        return is_multiple(a, unit, depth - 1);
    case LLVMShl:
        return LLVMIsAConstantInt(b) && LLVMConstIntGetZExtValue(b) < 32 &&
               is_multiple(a, unit >> LLVMConstIntGetZExtValue(b), depth - 1);
    case LLVMMul:
        return is_multiple(b, unit, depth - 1) || is_multiple(a, unit, depth - 1);
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
        return is_multiple(a, unit, depth - 1) && is_multiple(b, unit, depth - 1);
    case LLVMAnd:
        return is_multiple(b, unit, depth - 1) || is_multiple(a, unit, depth - 1);
    default:
        return false;
    }
}

/* Is what the address computation adds a multiple of `unit`? */
static bool adds_multiple(LLVMTargetDataRef layout, LLVMValueRef gep, uint64_t unit) {
    uint64_t scale = LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(gep));
    while (scale && scale % 2 == 0 && unit > 1) {
        scale /= 2;
        unit /= 2;
    }
    return LLVMGetNumOperands(gep) == 2 &&
           (scale == 0 || is_multiple(LLVMGetOperand(gep, 1), unit, MAX_DEPTH));
}

/* Of a variable, or of an argument, whose type's alignment a launch sees to; of all else 1. */
static uint64_t known_alignment(struct igc_kernel *kernel, LLVMValueRef pointer) {
    if (LLVMIsAAllocaInst(pointer) || LLVMIsAGlobalVariable(pointer)) {
        return LLVMGetAlignment(pointer);
    }
    if (igi_family_of(pointer) != IGI_FAMILY_ARGUMENT) {
        return 1;
    }
    const struct igc_reflection *r = kernel->reflection;
    uint32_t argument = igp_argument_of(r, pointer);
    return argument < r->argument_count ? r->arguments[argument].type_align : 1;
}

/* What decides about the alignment: the pointer before all that adds multiples; NULL where it is
 * known to be one itself. */
static LLVMValueRef deciding(struct igc_kernel *kernel, LLVMValueRef pointer, unsigned align) {
    while (LLVMIsAGetElementPtrInst(pointer) && adds_multiple(kernel->layout, pointer, align)) {
        pointer = LLVMGetOperand(pointer, 0);
    }
    return known_alignment(kernel, pointer) >= align ? NULL : pointer;
}

static LLVMValueRef is_aligned(struct igc_kernel *kernel, LLVMValueRef pointer, unsigned align) {
    LLVMTypeRef type = LLVMIntPtrTypeForASInContext(
        kernel->context, kernel->layout, LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)));
    LLVMValueRef address = LLVMBuildPtrToInt(kernel->builder, pointer, type, "");
    LLVMValueRef rest =
        LLVMBuildAnd(kernel->builder, address, LLVMConstInt(type, align - 1, false), "");
    return LLVMBuildICmp(kernel->builder, LLVMIntEQ, rest, LLVMConstNull(type), "");
}

/* The loaded vector (of a store: NULL), element by element, at the builder. */
static LLVMValueRef access_elements(struct igc_kernel *kernel, LLVMValueRef in) {
    LLVMBuilderRef builder = kernel->builder;
    LLVMTypeRef type = type_of(in), element = LLVMGetElementType(type);
    uint64_t bytes = element_bytes(kernel->layout, type);
    LLVMValueRef all = LLVMIsAStoreInst(in) ? LLVMGetOperand(in, 0) : LLVMGetPoison(type);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        LLVMValueRef at = igc_byte_offset(kernel, pointer_of(in), i * bytes);
        LLVMValueRef index = LLVMConstInt(kernel->i32, i, false), one;
        if (LLVMIsAStoreInst(in)) {
            one = LLVMBuildStore(builder, LLVMBuildExtractElement(builder, all, index, ""), at);
        } else {
            one = LLVMBuildLoad2(builder, element, at, "");
            all = LLVMBuildInsertElement(builder, all, one, index, "");
        }
        LLVMSetAlignment(one, (unsigned)bytes);
    }
    return LLVMIsAStoreInst(in) ? NULL : all;
}

/* Blocks in the place of an instruction: it goes to `whole`, its parts to `parts`. */
struct fork {
    LLVMBasicBlockRef head, whole, parts, tail;
};

static struct fork fork_before(struct igc_kernel *kernel, LLVMValueRef in) {
    struct fork fork = {.head = igi_split_before(kernel->builder, in),
                        .tail = LLVMGetInstructionParent(in)};
    fork.whole = LLVMInsertBasicBlockInContext(kernel->context, fork.tail, "");
    fork.parts = LLVMInsertBasicBlockInContext(kernel->context, fork.tail, "");
    return fork;
}

static void move_into(struct igc_kernel *kernel, LLVMValueRef in, const struct fork *fork) {
    LLVMInstructionRemoveFromParent(in);
    LLVMPositionBuilderAtEnd(kernel->builder, fork->whole);
    LLVMInsertIntoBuilder(kernel->builder, in);
    LLVMBuildBr(kernel->builder, fork->tail);
}

static bool loosen(struct igc_kernel *kernel, LLVMValueRef in) {
    LLVMBuilderRef builder = kernel->builder;
    unsigned align = LLVMGetAlignment(in);
    LLVMValueRef asked = deciding(kernel, pointer_of(in), align);
    if (!asked) {
        return false;
    }
    struct fork fork = fork_before(kernel, in);
    LLVMPositionBuilderAtEnd(builder, fork.head);
    LLVMBuildCondBr(builder, is_aligned(kernel, asked, align), fork.whole, fork.parts);
    LLVMPositionBuilderAtEnd(builder, fork.parts);
    LLVMValueRef elements = access_elements(kernel, in);
    LLVMBuildBr(builder, fork.tail);
    LLVMPositionBuilderBefore(builder, in);
    LLVMValueRef phi = elements ? LLVMBuildPhi(builder, type_of(in), "") : NULL;
    if (phi) {
        LLVMReplaceAllUsesWith(in, phi);
    }
    move_into(kernel, in, &fork);
    if (phi) {
        LLVMAddIncoming(phi, (LLVMValueRef[]){in, elements},
                        (LLVMBasicBlockRef[]){fork.whole, fork.parts}, 2);
    }
    return true;
}

/* ---- copies ---- */
static bool is_copy(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    return igp_is_memory_copy(in);
}

/* The copy with sides that may be less aligned, at the builder. */
static void copy_quarters(struct igc_kernel *kernel, LLVMValueRef copy, const unsigned *aligned) {
    LLVMValueRef to = LLVMGetOperand(copy, 0), from = LLVMGetOperand(copy, 1);
    LLVMValueRef length = LLVMGetOperand(copy, 2);
    if (igi_intrinsic_of(copy) == IGI_LLVM_memmove) {
        LLVMBuildMemMove(kernel->builder, to, aligned[0], from, aligned[1], length);
    } else {
        LLVMBuildMemCpy(kernel->builder, to, aligned[0], from, aligned[1], length);
    }
}

static bool loosen_copy(struct igc_kernel *kernel, LLVMValueRef copy) {
    LLVMValueRef asked[2];
    unsigned wanted[2], quarters[2];
    for (unsigned side = 0; side < 2; side++) {
        wanted[side] = igp_copy_alignment(copy, side);
        asked[side] =
            wanted[side] > 1 ? deciding(kernel, LLVMGetOperand(copy, side), wanted[side]) : NULL;
        quarters[side] = !asked[side] ? wanted[side] : wanted[side] > 4 ? wanted[side] / 4 : 1;
    }
    if (!asked[0] && !asked[1]) {
        return false;
    }
    struct fork fork = fork_before(kernel, copy);
    LLVMPositionBuilderAtEnd(kernel->builder, fork.head);
    LLVMValueRef whole = NULL;
    for (unsigned side = 0; side < 2; side++) {
        LLVMValueRef one = asked[side] ? is_aligned(kernel, asked[side], wanted[side]) : NULL;
        whole = !one ? whole : !whole ? one : LLVMBuildAnd(kernel->builder, whole, one, "");
    }
    LLVMBuildCondBr(kernel->builder, whole, fork.whole, fork.parts);
    LLVMPositionBuilderAtEnd(kernel->builder, fork.parts);
    copy_quarters(kernel, copy, quarters);
    LLVMBuildBr(kernel->builder, fork.tail);
    move_into(kernel, copy, &fork);
    return true;
}

bool igp_is_loose(const struct igc_kernel *kernel) {
    return kernel->job->loose_alignment;
}

enum igc_result igp_loosen_alignment(struct igc_kernel *kernel) {
    struct igc_list accesses = igc_collect(kernel, is_wanted);
    struct igc_list copies = igc_collect(kernel, is_copy);
    if (accesses.failed || copies.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    bool changed = false;
    for (size_t i = 0; i < accesses.count; i++) {
        changed |= loosen(kernel, accesses.items[i]);
    }
    for (size_t i = 0; i < copies.count; i++) {
        changed |= loosen_copy(kernel, copies.items[i]);
    }
    return changed ? IGC_CHANGED : IGC_UNCHANGED;
}
