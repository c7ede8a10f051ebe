/*
 * Where the shadow of private memory is: each variable has another of the same form, and the shadow
 * of an address is the same steps from there. Also what a variable's shadow is at its declaration.
 *
 * A pointer that may point into several variables has a phi or a select beside its own. Does not
 * know pointers that were loaded or made of numbers.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/shadow.h"

enum { MOST_STEPS = 200, MOST_TRACKED = 512 };

/* ---- types ---- */

static LLVMTypeRef integer(const struct igs_shadows *shadows, uint64_t bytes) {
    return LLVMIntTypeInContext(shadows->kernel->context, (unsigned)bytes * 8);
}

/* Of the same layout, of integers: LLVM then treats it as it treats the variable. */
static LLVMTypeRef form_of(const struct igs_shadows *shadows, LLVMTypeRef type) {
    struct igc_kernel *kernel = shadows->kernel;
    switch (LLVMGetTypeKind(type)) {
    case LLVMArrayTypeKind:
        return LLVMArrayType2(form_of(shadows, LLVMGetElementType(type)),
                              LLVMGetArrayLength2(type));
    case LLVMStructTypeKind: {
        unsigned count = LLVMCountStructElementTypes(type);
        LLVMTypeRef *members = ig_arena_array(kernel->arena, count + 1, sizeof *members);
        if (!members) {
            return type;
        }
        for (unsigned i = 0; i < count; i++) {
            members[i] = form_of(shadows, LLVMStructGetTypeAtIndex(type, i));
        }
        return LLVMStructTypeInContext(kernel->context, members, count,
                                       LLVMIsPackedStruct(type) != 0);
    }
    case LLVMVectorTypeKind:
        return LLVMVectorType(form_of(shadows, LLVMGetElementType(type)), LLVMGetVectorSize(type));
    default:
        return integer(shadows, LLVMStoreSizeOfType(kernel->layout, type));
    }
}

/* Calls `note` for each stretch of bytes that is data, not padding. */
typedef void note_fn(void *context, uint64_t offset, uint64_t bytes);
static void each_stretch(struct igc_kernel *kernel, LLVMTypeRef type, uint64_t offset,
                         note_fn *note, void *context) {
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            each_stretch(kernel, LLVMStructGetTypeAtIndex(type, i),
                         offset + LLVMOffsetOfElement(kernel->layout, type, i), note, context);
        }
    } else if (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
        LLVMTypeRef element = LLVMGetElementType(type);
        uint64_t size = LLVMABISizeOfType(kernel->layout, element);
        uint64_t count = LLVMGetArrayLength2(type);
        LLVMTypeKind kind = LLVMGetTypeKind(element);
        bool is_simple = kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind &&
                         LLVMStoreSizeOfType(kernel->layout, element) == size;
        if (is_simple || count > MOST_TRACKED) {
            note(context, offset, size * count);
            return;
        }
        for (uint64_t i = 0; i < count; i++) {
            each_stretch(kernel, element, offset + i * size, note, context);
        }
    } else {
        note(context, offset, LLVMStoreSizeOfType(kernel->layout, type));
    }
}

/* ---- is a variable written as soon as it is declared? ---- */

struct coverage {
    bool is_data[MOST_TRACKED], is_written[MOST_TRACKED];
    uint64_t bytes, left;
};

static void note_data(void *context, uint64_t offset, uint64_t bytes) {
    struct coverage *coverage = context;
    for (uint64_t i = offset; i < offset + bytes && i < MOST_TRACKED; i++) {
        coverage->left += !coverage->is_data[i];
        coverage->is_data[i] = true;
    }
}

static void note_written(struct coverage *coverage, uint64_t offset, uint64_t bytes) {
    for (uint64_t i = offset; i < coverage->bytes && i - offset < bytes; i++) {
        coverage->left -= coverage->is_data[i] && !coverage->is_written[i];
        coverage->is_written[i] = true;
    }
}

/* The constant offset of a pointer from the variable; false: another one, or not constant. */
bool igs_constant_offset(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef variable,
                         uint64_t *offset) {
    *offset = 0;
    for (unsigned steps = 0; pointer != variable && steps < MOST_STEPS; steps++) {
        if (!LLVMIsAGetElementPtrInst(pointer)) {
            return false;
        }
        LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
        for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(pointer); i++) {
            LLVMValueRef index = LLVMGetOperand(pointer, i);
            if (!LLVMIsAConstantInt(index)) {
                return false;
            }
            if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
                unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
                *offset += LLVMOffsetOfElement(kernel->layout, type, field);
                type = LLVMStructGetTypeAtIndex(type, field);
                continue;
            }
            type = i > 1 ? LLVMGetElementType(type) : type;
            *offset += LLVMConstIntGetZExtValue(index) * LLVMABISizeOfType(kernel->layout, type);
        }
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer == variable;
}

/* Can it read the variable, or hand its address on? */
static bool may_read(struct igc_kernel *kernel, LLVMValueRef in, LLVMValueRef variable) {
    LLVMValueRef pointer = NULL;
    if (LLVMIsALoadInst(in)) {
        pointer = LLVMGetOperand(in, 0);
    } else if (LLVMIsAStoreInst(in)) {
        pointer = LLVMGetOperand(in, 0);
        if (LLVMGetTypeKind(LLVMTypeOf(pointer)) != LLVMPointerTypeKind) {
            return false;
        }
    } else if (LLVMIsACallInst(in)) {
        if (igi_is_intrinsic(in)) {
            bool copies = (igi_intrinsic_flags_of(in) & IGI_I_COPIES) != 0;
            pointer = copies ? LLVMGetOperand(in, 1) : NULL;
            if (!copies || LLVMGetTypeKind(LLVMTypeOf(pointer)) != LLVMPointerTypeKind) {
                return false;
            }
        } else {
            return igi_family_of(in) == IGI_NO_FAMILY || igi_family_of(in) == IGI_FAMILY_LOG;
        }
    } else {
        return LLVMIsAAtomicRMWInst(in) || LLVMIsAAtomicCmpXchgInst(in);
    }
    struct igs_root root = igs_find_root(kernel, pointer);
    return root.base == variable || (root.kind == IGS_ROOT_UNKNOWN && !root.space);
}

static void note_store(struct igc_kernel *kernel, LLVMValueRef in, LLVMValueRef variable,
                       struct coverage *coverage) {
    uint64_t offset, bytes = 0;
    LLVMValueRef pointer = NULL;
    if (LLVMIsAStoreInst(in)) {
        pointer = LLVMGetOperand(in, 1);
        bytes = LLVMStoreSizeOfType(kernel->layout, LLVMTypeOf(LLVMGetOperand(in, 0)));
    } else if (LLVMIsACallInst(in) && igi_is_intrinsic(in) &&
               igi_intrinsic_flags_of(in) & IGI_I_COPIES &&
               LLVMIsAConstantInt(LLVMGetOperand(in, 2))) {
        pointer = LLVMGetOperand(in, 0);
        bytes = LLVMConstIntGetZExtValue(LLVMGetOperand(in, 2));
    }
    if (pointer && igs_constant_offset(kernel, pointer, variable, &offset)) {
        note_written(coverage, offset, bytes);
    }
}

static bool has_one_predecessor(LLVMBasicBlockRef block) {
    unsigned count = 0;
    igi_each_use(use, LLVMBasicBlockAsValue(block)) {
        count += LLVMIsATerminatorInst(LLVMGetUser(use)) != NULL;
    }
    return count == 1;
}

bool igs_is_written_at_once(struct igc_kernel *kernel, LLVMValueRef variable,
                            LLVMValueRef declared) {
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    struct coverage coverage = {.bytes = LLVMABISizeOfType(kernel->layout, type)};
    if (coverage.bytes > MOST_TRACKED) {
        return false;
    }
    each_stretch(kernel, type, 0, note_data, &coverage);
    LLVMValueRef in = LLVMGetNextInstruction(declared);
    for (unsigned steps = 0; in && coverage.left && steps < MOST_STEPS; steps++) {
        if (may_read(kernel, in, variable)) {
            return false;
        }
        note_store(kernel, in, variable, &coverage);
        if (LLVMIsATerminatorInst(in)) {
            LLVMBasicBlockRef from = LLVMGetInstructionParent(in), to;
            if (!LLVMIsABranchInst(in) || LLVMIsConditional(in)) {
                return false;
            }
            to = LLVMGetSuccessor(in, 0);
            if (from == to || !has_one_predecessor(to)) {
                return false;
            }
            in = LLVMGetFirstInstruction(to);
            continue;
        }
        in = LLVMGetNextInstruction(in);
    }
    return !coverage.left;
}

/* ---- the variables' shadows ---- */

static void set_bytes(struct igs_shadows *shadows, LLVMValueRef at, unsigned value, uint64_t bytes,
                      unsigned alignment) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuildMemSet(kernel->builder, at, igc_integer(kernel->i8, value),
                    igc_integer(kernel->i64, bytes), alignment);
}

struct filling {
    struct igs_shadows *shadows;
    LLVMValueRef shadow;
};

static void fill_stretch(void *context, uint64_t offset, uint64_t bytes) {
    const struct filling *filling = context;
    LLVMValueRef at = igc_byte_offset(filling->shadows->kernel, filling->shadow, offset);
    unsigned alignment = LLVMGetAlignment(filling->shadow);
    set_bytes(filling->shadows, at, IGS_MAY_UNWRITTEN, bytes, offset % alignment ? 1 : alignment);
}

/* Behind a declaration nothing is written yet, but padding counts as written. */
static void declare(struct igs_shadows *shadows, struct igs_variable *variable,
                    LLVMValueRef declared) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMTypeRef type = LLVMGetAllocatedType(variable->alloca);
    struct filling filling = {shadows, variable->shadow};
    LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(declared));
    set_bytes(shadows, variable->shadow, 0, LLVMABISizeOfType(kernel->layout, type),
              LLVMGetAlignment(variable->shadow));
    if (variable->begins && !igs_is_written_at_once(shadows->kernel, variable->alloca, declared)) {
        each_stretch(kernel, type, 0, fill_stretch, &filling);
    }
}

static LLVMValueRef shadow_variable(struct igs_shadows *shadows, LLVMValueRef alloca) {
    struct igc_kernel *kernel = shadows->kernel;
    struct igs_variable *variable =
        &shadows->variables[igi_map_get(&shadows->variable_numbers, alloca)];
    if (variable->shadow) {
        return variable->shadow;
    }
    LLVMTypeRef type = LLVMGetAllocatedType(alloca);
    LLVMPositionBuilderBefore(kernel->builder, alloca);
    variable->shadow = LLVMBuildArrayAlloca(kernel->builder, form_of(shadows, type),
                                            LLVMGetOperand(alloca, 0), "");
    LLVMSetAlignment(variable->shadow, LLVMGetAlignment(alloca));
    bool is_declared = false;
    igi_each_use_safe(use, alloca) {
        LLVMValueRef user = LLVMGetUser(use);
        if (igi_intrinsic_of(user) == IGI_LLVM_lifetime_start) {
            declare(shadows, variable, user);
            is_declared = true;
        }
    }
    if (!is_declared) {
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(alloca));
        set_bytes(shadows, variable->shadow, 0, LLVMABISizeOfType(kernel->layout, type),
                  LLVMGetAlignment(variable->shadow));
    }
    return variable->shadow;
}

/* ---- addresses ---- */

/* The operand that an address is a step from, or NULL. */
static LLVMValueRef step(LLVMValueRef pointer) {
    return LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer) ||
                   LLVMIsAFreezeInst(pointer)
               ? LLVMGetOperand(pointer, 0)
               : NULL;
}

/* Do all of its roots have shadows? */
static bool is_known(struct igs_shadows *shadows, LLVMValueRef pointer, struct igi_map *seen) {
    for (LLVMValueRef next; (next = step(pointer));) {
        pointer = next;
    }
    if (LLVMIsAAllocaInst(pointer)) {
        return igi_map_get(&shadows->variable_numbers, pointer) != IGI_NONE;
    }
    bool is_phi = LLVMIsAPHINode(pointer) != NULL;
    if (!is_phi && !LLVMIsASelectInst(pointer)) {
        return false;
    }
    if (!igi_set_add(seen, pointer)) {
        return true;
    }
    unsigned count = is_phi ? LLVMCountIncoming(pointer) : 2;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef next =
            is_phi ? LLVMGetIncomingValue(pointer, i) : LLVMGetOperand(pointer, i + 1);
        if (!is_known(shadows, next, seen)) {
            return false;
        }
    }
    return true;
}

static LLVMValueRef build(struct igs_shadows *shadows, LLVMValueRef pointer, LLVMValueRef before);

static LLVMValueRef build_phi(struct igs_shadows *shadows, LLVMValueRef phi) {
    LLVMBuilderRef b = shadows->kernel->builder;
    unsigned number = igi_map_get(&shadows->pointer_numbers, phi);
    if (number != IGI_NONE) {
        return shadows->pointers[number];
    }
    if (shadows->pointer_count == IGS_MOST_POINTERS) {
        return NULL;
    }
    LLVMPositionBuilderBefore(b, phi);
    LLVMValueRef own = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
    shadows->pointers[shadows->pointer_count] = own;
    igi_map_put(&shadows->pointer_numbers, phi, shadows->pointer_count++);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef value =
            build(shadows, LLVMGetIncomingValue(phi, i), LLVMGetBasicBlockTerminator(from));
        if (!value) {
            value = LLVMConstNull(LLVMTypeOf(phi));
        }
        LLVMAddIncoming(own, &value, &from, 1);
    }
    return own;
}

/* The shadow of threadgroup memory at a root. By way of a number: to LLVM it is nowhere in the
 * variable, or it would take stores to it for stores behind the variable's end. */
static LLVMValueRef build_threadgroup(struct igs_shadows *shadows, LLVMValueRef root,
                                      LLVMValueRef before) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    unsigned number = igi_map_get(&shadows->pointer_numbers, root);
    if (number != IGI_NONE) {
        return shadows->pointers[number];
    }
    bool is_argument = igi_family_of(root) == IGI_FAMILY_ARGUMENT;
    bool is_kept =
        (LLVMIsConstant(root) || is_argument) && shadows->pointer_count < IGS_MOST_POINTERS;
    LLVMPositionBuilderBefore(b, !is_kept      ? before
                                 : is_argument ? LLVMGetNextInstruction(root)
                                               : LLVMGetFirstInstruction(shadows->graph.blocks[0]));
    LLVMValueRef address = LLVMBuildPtrToInt(b, root, kernel->i64, "");
    address = LLVMBuildAdd(b, address, igs_call(kernel, IGI_san_distance, NULL, 0), "");
    LLVMValueRef result = LLVMBuildIntToPtr(b, address, LLVMTypeOf(root), "");
    if (is_kept) {
        shadows->pointers[shadows->pointer_count] = result;
        igi_map_put(&shadows->pointer_numbers, root, shadows->pointer_count++);
    }
    return result;
}

static bool is_threadgroup(LLVMValueRef pointer) {
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == INGOT_SPACE_THREADGROUP;
}

/* Makes the steps again, before an instruction that the pointer dominates. */
static LLVMValueRef build(struct igs_shadows *shadows, LLVMValueRef pointer, LLVMValueRef before) {
    LLVMBuilderRef b = shadows->kernel->builder;
    if (LLVMIsAAllocaInst(pointer)) {
        return shadow_variable(shadows, pointer);
    }
    if (LLVMIsAPHINode(pointer)) {
        return build_phi(shadows, pointer);
    }
    if (LLVMIsASelectInst(pointer)) {
        LLVMValueRef one = build(shadows, LLVMGetOperand(pointer, 1), before);
        LLVMValueRef other = build(shadows, LLVMGetOperand(pointer, 2), before);
        LLVMPositionBuilderBefore(b, before);
        return one && other ? LLVMBuildSelect(b, LLVMGetOperand(pointer, 0), one, other, "") : NULL;
    }
    if (!step(pointer)) {
        return is_threadgroup(pointer) ? build_threadgroup(shadows, pointer, before) : NULL;
    }
    LLVMValueRef base = build(shadows, LLVMGetOperand(pointer, 0), before);
    if (!base || !LLVMIsAGetElementPtrInst(pointer)) {
        return base;
    }
    unsigned count = (unsigned)LLVMGetNumOperands(pointer) - 1;
    LLVMValueRef *indices = ig_arena_array(shadows->kernel->arena, count + 1, sizeof *indices);
    if (!indices) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        indices[i] = LLVMGetOperand(pointer, i + 1);
    }
    LLVMPositionBuilderBefore(b, before);
    return LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(pointer), base, indices, count, "");
}

LLVMValueRef igs_shadow_pointer(struct igs_shadows *shadows, LLVMValueRef pointer,
                                LLVMValueRef before) {
    struct igi_map seen = {0};
    LLVMValueRef result = NULL;
    unsigned memory = igs_memory_of(shadows, pointer);
    igi_map_start(&seen, shadows->kernel->arena, 8);
    if ((memory == IGS_MEMORY_THREADGROUP && is_threadgroup(pointer)) ||
        (memory >= IGS_MEMORY_ANY_PRIVATE && is_known(shadows, pointer, &seen))) {
        result = build(shadows, pointer, before);
    }
    LLVMPositionBuilderBefore(shadows->kernel->builder, before);
    return result;
}
