/*
 * Copies of a few bytes as loads and stores, as wide as the alignment allows: LLVM would use
 * integers of at most 64 bits.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/nvptx/nvptx.h"

enum { MAX_BYTES = 128, WIDEST = 16, MAX_PARTS = 64 };

bool igp_is_memory_copy(LLVMValueRef in) {
    enum igi_intrinsic intrinsic = igi_intrinsic_of(in);
    return intrinsic == IGI_LLVM_memcpy || intrinsic == IGI_LLVM_memcpy_inline ||
           intrinsic == IGI_LLVM_memmove;
}

unsigned igp_copy_alignment(LLVMValueRef call, unsigned side) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, side + 1, kind);
    return align ? (unsigned)LLVMGetEnumAttributeValue(align) : 1;
}

/* An integer, or two or four of 32 bits. */
static LLVMTypeRef type_of(const struct igc_kernel *k, uint64_t bytes) {
    return bytes <= 4 ? LLVMIntTypeInContext(k->context, (unsigned)bytes * 8)
                      : LLVMVectorType(LLVMInt32TypeInContext(k->context), (unsigned)bytes / 4);
}

static LLVMValueRef at(struct igc_kernel *k, LLVMValueRef pointer, uint64_t offset) {
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(k->context), offset, false);
    return LLVMBuildInBoundsGEP2(k->builder, LLVMInt8TypeInContext(k->context), pointer, &index, 1,
                                 "");
}

/* Of both sides, 16 at most. */
static uint64_t common_alignment(LLVMValueRef call) {
    uint64_t align = igp_copy_alignment(call, 0), other = igp_copy_alignment(call, 1);
    align = other < align ? other : align;
    return align > WIDEST ? WIDEST : align;
}

bool igp_is_small_copy(LLVMValueRef in) {
    LLVMValueRef length = igp_is_memory_copy(in) ? LLVMGetOperand(in, 2) : NULL;
    return length && LLVMIsAConstantInt(length) &&
           !LLVMConstIntGetZExtValue(LLVMGetOperand(in, 3)) &&
           LLVMConstIntGetZExtValue(length) <= MAX_BYTES &&
           LLVMConstIntGetZExtValue(length) / common_alignment(in) + 5 <= MAX_PARTS;
}

static void lower_copy(struct igc_kernel *k, LLVMValueRef call) {
    LLVMValueRef to = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1);
    if (!igp_is_small_copy(call)) {
        return;
    }
    const uint64_t align = common_alignment(call);
    uint64_t bytes = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 2)), offsets[MAX_PARTS];
    LLVMValueRef values[MAX_PARTS];
    unsigned count = 0;
    LLVMPositionBuilderBefore(k->builder, call);
    for (uint64_t offset = 0, size = align; offset < bytes;) {
        if (offset + size > bytes) {
            size /= 2;
            continue;
        }
        values[count] = LLVMBuildLoad2(k->builder, type_of(k, size), at(k, from, offset), "");
        LLVMSetAlignment(values[count], (unsigned)size);
        offsets[count++] = offset;
        offset += size;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned size = LLVMGetAlignment(values[i]);
        LLVMSetAlignment(LLVMBuildStore(k->builder, values[i], at(k, to, offsets[i])), size);
    }
    LLVMInstructionEraseFromParent(call);
}

enum igc_result igp_lower_copies(struct igc_kernel *kernel) {
    LLVMValueRef *calls = igp_collect(kernel, igp_is_memory_copy);
    for (LLVMValueRef *call = calls; call && *call; call++) {
        lower_copy(kernel, *call);
    }
    if (!calls) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    return *calls ? IGC_CHANGED : IGC_UNCHANGED;
}
