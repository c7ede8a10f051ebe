/*
 * Helpers of the passes that bring an optimised scalar kernel into the form that the vectoriser
 * requires (cpu/passes.c has their order): scalars only, plain branches, one return, reducible
 * loops in loop-simplify and LCSSA form, and known places for threadgroup variables.
 *
 * These passes require that everything that can be inlined is, and that no vectorised function is
 * in the module yet: LLVM's passes run on all of it. Ours look at one function, the kernel's or one
 * that stays a function.
 */
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"

#include <string.h>

bool igv_is_aggregate(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind;
}

bool igv_is_vector(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

void igv_copy_metadata(struct igc_kernel *kernel, LLVMValueRef from, LLVMValueRef to) {
    static const char *const kinds[] = {"tbaa", "alias.scope", "noalias", "invariant.load"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        unsigned kind =
            LLVMGetMDKindIDInContext(kernel->context, kinds[i], (unsigned)strlen(kinds[i]));
        LLVMValueRef node = LLVMGetMetadata(from, kind);
        if (node) {
            LLVMSetMetadata(to, kind, node);
        }
    }
    LLVMSetVolatile(to, LLVMGetVolatile(from));
}

LLVMValueRef igv_earlier_incoming(LLVMValueRef phi, LLVMBasicBlockRef block) {
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingBlock(phi, i) == block) {
            return LLVMGetIncomingValue(phi, i);
        }
    }
    return NULL;
}

/* ---- what the rounds of scalarising are to reach ---- */
static bool is_not_scalar(LLVMValueRef instruction) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode == LLVMAtomicCmpXchg || opcode == LLVMExtractValue) {
        return igv_is_vector(type);
    }
    if (igv_is_aggregate(type) || igv_is_vector(type)) {
        return true;
    }
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMTypeRef operand = LLVMTypeOf(LLVMGetOperand(instruction, (unsigned)i));
        if (igv_is_aggregate(operand) || igv_is_vector(operand)) {
            return true;
        }
    }
    return false;
}

bool igv_is_scalar(const struct igc_kernel *kernel) {
    igi_each_function(f, kernel->module) {
        if (f != kernel->function && igc_kept_number(f) == IGI_NONE) {
            continue;
        }
        igi_each_instruction(in, f) {
            if (is_not_scalar(in)) {
                return false;
            }
        }
    }
    return true;
}

enum igc_result igv_prepare_check_scalar(struct igc_kernel *kernel) {
    igi_each_instruction(in, kernel->function) {
        if (is_not_scalar(in)) {
            char *text = LLVMPrintValueToString(in);
            ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                    "the kernel holds a vector or struct that cannot be taken apart:%s", text);
            LLVMDisposeMessage(text);
            return IGC_FAILED;
        }
    }
    return IGC_UNCHANGED;
}
