/*
 * Marks of variables that are not written at their declaration: a call, of the variable's type, is
 * what is stored there, so that LLVM carries it along as any other value, and concludes nothing.
 *
 * Two passes: before variables become registers those of scalars and vectors are marked; behind
 * bounds, before structs and small arrays become registers, each of their members is. Larger arrays
 * have no marks: their shadow says that they are not written (shadow_pointers.c).
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/shadow.h"

enum { MOST_MEMBERS = 64 };

static bool is_declaration(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    return LLVMIsACallInst(in) && igi_is_intrinsic(in) &&
           igi_intrinsic_of(in) == IGI_LLVM_lifetime_start;
}

static bool is_aggregate(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind;
}

/* ---- one mark ---- */

static LLVMValueRef mark(struct igc_kernel *kernel, LLVMTypeRef type, uint32_t place) {
    LLVMTypeRef function_type = LLVMFunctionType(type, &kernel->i32, 1, false);
    LLVMValueRef function = NULL;
    struct igi_name name = igi_plain(IGI_san_unwritten);
    for (; (function = igi_find_named(kernel->module, name)); name.numbers[0]++) {
        if (LLVMGlobalGetValueType(function) == function_type) {
            break;
        }
    }
    if (!function) {
        char text[IGI_MOST_LETTERS];
        uint64_t memory = 0;
        if (!igi_name_write(name, text)) {
            return LLVMConstNull(type);
        }
        function = LLVMAddFunction(kernel->module, text, function_type);
        igi_memory_attribute(IGI_MEMORY_NONE, &memory);
        igi_add_attribute(function, "memory", memory);
        igi_add_attribute(function, "nounwind", 0);
        igi_add_attribute(function, "willreturn", 0);
    }
    LLVMValueRef number = igc_integer(kernel->i32, place);
    return LLVMBuildCall2(kernel->builder, function_type, function, &number, 1, "");
}

static bool place_of(struct igc_kernel *kernel, LLVMValueRef declaration, LLVMValueRef variable,
                     uint32_t *number) {
    struct igs_place *place = igs_place_of(kernel, IG_SANITIZE_uninitialised, declaration, number);
    if (place) {
        struct igs_root root = igs_find_root(kernel, variable);
        struct igs_access access = {.instruction = declaration, .pointer = variable};
        igs_describe_access(kernel, place, &access, &root);
    }
    return place != NULL;
}

/* The variable that it declares, or NULL. */
static LLVMValueRef variable_of(LLVMValueRef declaration) {
    LLVMValueRef variable =
        LLVMGetOperand(declaration, (unsigned)LLVMGetNumArgOperands(declaration) - 1);
    return LLVMIsAAllocaInst(variable) ? variable : NULL;
}

/* ---- scalars and vectors ---- */

/* Then the mark would go again. */
bool igs_is_stored_first(LLVMValueRef declaration, LLVMValueRef variable) {
    enum { MOST_STEPS = 100 };
    LLVMValueRef in = LLVMGetNextInstruction(declaration);
    for (unsigned steps = 0; in && steps < MOST_STEPS; steps++, in = LLVMGetNextInstruction(in)) {
        if (LLVMIsAStoreInst(in) && LLVMGetOperand(in, 1) == variable) {
            return LLVMTypeOf(LLVMGetOperand(in, 0)) == LLVMGetAllocatedType(variable);
        }
        bool informs = igi_is_intrinsic(in) && igi_intrinsic_flags_of(in) & IGI_I_INFORMS;
        for (unsigned i = 0; !informs && i < (unsigned)LLVMGetNumOperands(in); i++) {
            if (LLVMGetOperand(in, i) == variable) {
                return false;
            }
        }
    }
    return false;
}

enum igc_result igs_mark_unwritten(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_declaration);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef declaration = list.items[i], variable = variable_of(declaration);
        uint32_t number;
        if (!variable || is_aggregate(LLVMGetAllocatedType(variable)) ||
            igs_is_stored_first(declaration, variable) ||
            !place_of(kernel, declaration, variable, &number)) {
            continue;
        }
        LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(declaration));
        LLVMValueRef value = mark(kernel, LLVMGetAllocatedType(variable), number);
        LLVMSetAlignment(LLVMBuildStore(kernel->builder, value, variable),
                         LLVMGetAlignment(variable));
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}

/* ---- members ---- */

static uint64_t count_members(LLVMTypeRef type) {
    uint64_t count = 0;
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            count += count_members(LLVMStructGetTypeAtIndex(type, i));
        }
        return count;
    }
    if (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
        uint64_t length = LLVMGetArrayLength2(type);
        return length > MOST_MEMBERS ? length : length * count_members(LLVMGetElementType(type));
    }
    return 1;
}

static bool is_kept(LLVMValueRef variable) {
    igi_each_use(use, variable) {
        if (igi_is_call_of(LLVMGetUser(use), IGI_san_keep)) {
            return true;
        }
    }
    return false;
}

bool igs_is_marked(LLVMValueRef variable) {
    return count_members(LLVMGetAllocatedType(variable)) <= MOST_MEMBERS && !is_kept(variable);
}

/* The bytes of the member that begins at an offset; 0: none does. */
static uint64_t member_at(struct igc_kernel *kernel, LLVMTypeRef type, uint64_t offset) {
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        for (unsigned i = LLVMCountStructElementTypes(type); i-- > 0;) {
            uint64_t start = LLVMOffsetOfElement(kernel->layout, type, i);
            if (start <= offset) {
                return member_at(kernel, LLVMStructGetTypeAtIndex(type, i), offset - start);
            }
        }
        return 0;
    }
    if (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
        LLVMTypeRef element = LLVMGetElementType(type);
        return member_at(kernel, element, offset % LLVMABISizeOfType(kernel->layout, element));
    }
    return offset ? 0 : LLVMStoreSizeOfType(kernel->layout, type);
}

/* Is it loaded or stored in pieces that are wider than its members, as structs in registers are?
 * In registers its members would be bits of numbers then. */
static bool has_wide_access(struct igc_kernel *kernel, LLVMValueRef pointer,
                            LLVMValueRef variable) {
    igi_each_use(use, pointer) {
        LLVMValueRef user = LLVMGetUser(use);
        uint64_t offset = 0;
        if (LLVMIsAGetElementPtrInst(user) && has_wide_access(kernel, user, variable)) {
            return true;
        }
        bool is_store = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == pointer;
        if ((is_store || LLVMIsALoadInst(user)) &&
            igs_constant_offset(kernel, pointer, variable, &offset)) {
            LLVMTypeRef type = LLVMTypeOf(is_store ? LLVMGetOperand(user, 0) : user);
            uint64_t member = member_at(kernel, LLVMGetAllocatedType(variable), offset);
            if (member && LLVMStoreSizeOfType(kernel->layout, type) > member &&
                LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
                return true;
            }
            if (member && LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
                LLVMStoreSizeOfType(kernel->layout, LLVMGetElementType(type)) < member &&
                LLVMStoreSizeOfType(kernel->layout, type) > member) {
                return true;
            }
        }
    }
    return false;
}

static void mark_members(struct igc_kernel *kernel, LLVMTypeRef type, LLVMValueRef variable,
                         uint64_t offset, uint32_t place) {
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
            mark_members(kernel, LLVMStructGetTypeAtIndex(type, i), variable,
                         offset + LLVMOffsetOfElement(kernel->layout, type, i), place);
        }
    } else if (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
        LLVMTypeRef element = LLVMGetElementType(type);
        uint64_t size = LLVMABISizeOfType(kernel->layout, element);
        for (uint64_t i = 0; i < LLVMGetArrayLength2(type); i++) {
            mark_members(kernel, element, variable, offset + i * size, place);
        }
    } else {
        LLVMValueRef at = igc_byte_offset(kernel, variable, offset);
        LLVMValueRef store = LLVMBuildStore(kernel->builder, mark(kernel, type, place), at);
        LLVMSetAlignment(store,
                         offset % LLVMGetAlignment(variable) ? 1 : LLVMGetAlignment(variable));
    }
}

enum igc_result igs_mark_members(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_declaration);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef declaration = list.items[i], variable = variable_of(declaration);
        LLVMTypeRef type = variable ? LLVMGetAllocatedType(variable) : NULL;
        uint32_t number;
        if (!type || !is_aggregate(type) || !igs_is_marked(variable) ||
            igs_is_written_at_once(kernel, variable, declaration)) {
            continue;
        }
        if (has_wide_access(kernel, variable, variable)) {
            LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(declaration));
            igs_call(kernel, IGI_san_keep, &variable, 1);
        } else if (place_of(kernel, declaration, variable, &number)) {
            LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(declaration));
            mark_members(kernel, type, variable, 0, number);
        }
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
