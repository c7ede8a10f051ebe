/*
 * alignment: accesses at addresses that are less aligned than their type asks for.
 *
 * Requires what bounds.c does. An access whose offset is a multiple of its alignment, from a root
 * that has it, is not checked: the launch validator sees to arguments. The others are compared, and
 * lose the promise of alignment that LLVM would act upon, so that they run on.
 */
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { ALIGN_OPERAND = 5 }; /* of __ingot_param */

/* Does the chain of getelementptr from the root only add multiples of it? */
static bool adds_multiples(struct igc_kernel *kernel, LLVMValueRef pointer, LLVMValueRef base,
                           uint64_t alignment) {
    while (pointer != base && LLVMIsAInstruction(pointer)) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(pointer);
        if (opcode == LLVMGetElementPtr) {
            LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
            unsigned count = (unsigned)LLVMGetNumOperands(pointer);
            for (unsigned i = 1; i < count; i++) {
                LLVMValueRef index = LLVMGetOperand(pointer, i);
                uint64_t step;
                if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
                    unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
                    step = LLVMOffsetOfElement(kernel->layout, type, field);
                    type = LLVMStructGetTypeAtIndex(type, field);
                } else {
                    type = i > 1 ? LLVMGetElementType(type) : type;
                    step = LLVMABISizeOfType(kernel->layout, type);
                    step *= LLVMIsAConstantInt(index) ? LLVMConstIntGetZExtValue(index) : 1;
                }
                if (step % alignment) {
                    return false;
                }
            }
        } else if (opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast) {
            return false;
        }
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer == base;
}

/* What the launch validator has seen to. */
static uint64_t argument_alignment(struct igc_kernel *kernel, uint32_t ordinal) {
    LLVMValueRef param = igi_find(kernel->module, IGI_param);
    if (!param) {
        return 1;
    }
    igi_each_use(use, param) {
        LLVMValueRef call = LLVMGetUser(use);
        LLVMValueRef own = LLVMIsACallInst(call) ? LLVMGetOperand(call, 0) : NULL;
        if (own && LLVMIsAConstantInt(own) && LLVMConstIntGetZExtValue(own) == ordinal &&
            LLVMIsAConstantInt(LLVMGetOperand(call, ALIGN_OPERAND))) {
            return LLVMConstIntGetZExtValue(LLVMGetOperand(call, ALIGN_OPERAND));
        }
    }
    return 1;
}

static uint64_t root_alignment(struct igc_kernel *kernel, const struct igs_root *root) {
    switch (root->kind) {
    case IGS_ROOT_ARGUMENT:
        /* dynamic threadgroup memory is laid out in multiples of 16 */
        return root->space == INGOT_SPACE_THREADGROUP ? 16
                                                      : argument_alignment(kernel, root->ordinal);
    case IGS_ROOT_PRIVATE:
    case IGS_ROOT_VARIABLE:
        return LLVMGetAlignment(root->base);
    case IGS_ROOT_UNKNOWN:
        break;
    }
    return 1;
}

/* LLVM must not conclude from the promise that it is kept. */
static void forget_alignment(const struct igs_access *access) {
    LLVMValueRef in = access->instruction;
    if (access->is_copy) {
        unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
        LLVMRemoveCallSiteEnumAttribute(in, access->access == INGOT_CPU_LOAD ? 2 : 1, kind);
    } else if ((LLVMIsALoadInst(in) || LLVMIsAStoreInst(in)) &&
               access->access != INGOT_CPU_ATOMIC) {
        LLVMSetAlignment(in, 1);
    }
}

static void check(struct igc_kernel *kernel, const struct igs_access *access) {
    LLVMBuilderRef b = kernel->builder;
    struct igs_root root = igs_find_root(kernel, access->pointer);
    uint64_t alignment = access->alignment;
    if (alignment < 2 || (root.kind == IGS_ROOT_UNKNOWN && !root.space) ||
        (root_alignment(kernel, &root) % alignment == 0 &&
         adds_multiples(kernel, access->pointer, root.base, alignment))) {
        return;
    }
    uint32_t number;
    struct igs_place *place =
        igs_place_of(kernel, IG_SANITIZE_alignment, access->instruction, &number);
    if (!place) {
        return;
    }
    igs_describe_access(kernel, place, access, &root);
    place->place.detail = (uint32_t)alignment;
    LLVMValueRef address = LLVMBuildPtrToInt(b, access->pointer, kernel->i64, "");
    LLVMValueRef rest = LLVMBuildAnd(b, address, igc_integer(kernel->i64, alignment - 1), "");
    LLVMValueRef zero = igc_integer(kernel->i64, 0);
    igs_expect(kernel, LLVMBuildICmp(b, LLVMIntEQ, rest, zero, ""), number, rest);
    forget_alignment(access);
}

enum igc_result igs_check_alignment(struct igc_kernel *kernel) {
    struct igc_list accesses = igc_collect(kernel, igs_is_access);
    if (accesses.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < accesses.count; i++) {
        struct igs_access found[IGS_MOST_ACCESSES];
        LLVMPositionBuilderBefore(kernel->builder, accesses.items[i]);
        unsigned count = igs_accesses_of(kernel, accesses.items[i], found);
        for (unsigned k = 0; k < count; k++) {
            check(kernel, &found[k]);
        }
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
