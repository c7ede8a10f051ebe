/*
 * bfloat to float, where the bfloat is the upper half of a word: the word with its lower half
 * cleared. LLVM takes the half out of the word and shifts it back, which is two instructions.
 *
 * Works on the finished entry point, behind the last clean-up, which knows nothing of words.
 */
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

/* Element `at` of a vector of bfloats, as a float; at is odd. */
static LLVMValueRef upper_half(LLVMBuilderRef builder, LLVMValueRef vector, unsigned at) {
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(vector));
    LLVMTypeRef word = LLVMInt32TypeInContext(context);
    unsigned words = LLVMGetVectorSize(LLVMTypeOf(vector)) / 2;
    LLVMValueRef all =
        words == 1
            ? LLVMBuildBitCast(builder, vector, word, "")
            : LLVMBuildExtractElement(
                  builder, LLVMBuildBitCast(builder, vector, LLVMVectorType(word, words), ""),
                  LLVMConstInt(word, at / 2, false), "");
    LLVMValueRef upper = LLVMBuildAnd(builder, all, LLVMConstInt(word, 0xffff0000u, false), "");
    return LLVMBuildBitCast(builder, upper, LLVMFloatTypeInContext(context), "");
}

static bool is_even_vector(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMBFloatTypeKind &&
           LLVMGetVectorSize(type) % 2 == 0;
}

/* What the conversion `in` becomes, or NULL. */
static LLVMValueRef converted(LLVMBuilderRef builder, LLVMValueRef in) {
    LLVMValueRef from = LLVMGetOperand(in, 0);
    if (LLVMIsAExtractElementInst(from)) {
        LLVMValueRef vector = LLVMGetOperand(from, 0), at = LLVMGetOperand(from, 1);
        if (!is_even_vector(LLVMTypeOf(vector)) || !LLVMIsAConstantInt(at) ||
            LLVMConstIntGetZExtValue(at) % 2 == 0) {
            return NULL;
        }
        return upper_half(builder, vector, (unsigned)LLVMConstIntGetZExtValue(at));
    }
    if (!is_even_vector(LLVMTypeOf(from))) {
        return NULL;
    }
    LLVMTypeRef number = LLVMGetElementType(LLVMTypeOf(in));
    LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(number));
    LLVMValueRef all = LLVMGetPoison(LLVMTypeOf(in));
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(from)); i++) {
        LLVMValueRef at = LLVMConstInt(index, i, false);
        LLVMValueRef one =
            i % 2 ? upper_half(builder, from, i)
                  : LLVMBuildFPExt(builder, LLVMBuildExtractElement(builder, from, at, ""), number,
                                   "");
        all = LLVMBuildInsertElement(builder, all, one, at, "");
    }
    return all;
}

static bool is_conversion(LLVMValueRef in) {
    if (LLVMGetInstructionOpcode(in) != LLVMFPExt) {
        return false;
    }
    LLVMTypeRef type = LLVMTypeOf(in);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) {
        type = LLVMGetElementType(type);
    }
    return LLVMGetTypeKind(type) == LLVMFloatTypeKind;
}

enum igc_result igp_bfloats(struct igc_kernel *kernel) {
    enum igc_result result = IGC_UNCHANGED;
    igi_each_instruction_safe(in, kernel->function) {
        if (!is_conversion(in)) {
            continue;
        }
        LLVMPositionBuilderBefore(kernel->builder, in);
        LLVMValueRef value = converted(kernel->builder, in);
        if (value) {
            igi_replace(in, value);
            result = IGC_CHANGED;
        }
    }
    return result;
}
