/*
 * Copies of a few bytes as loads and stores, as wide as the alignment allows: LLVM would use
 * integers of at most 64 bits.
 */
#include <string.h>

#include "compiler/nvptx/nvptx.h"

enum { MAX_BYTES = 128, WIDEST = 16, MAX_PARTS = 64 };

static bool is_copy(LLVMValueRef in) {
    const char *name = igp_callee(in);
    return !strncmp(name, "llvm.memcpy.", 12) || !strncmp(name, "llvm.memmove.", 13);
}

static uint64_t alignment(LLVMValueRef call, unsigned operand) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, operand + 1, kind);
    return align ? LLVMGetEnumAttributeValue(align) : 1;
}

/* An integer, or two or four of 32 bits. */
static LLVMTypeRef type_of(const struct igp_kernel *k, uint64_t bytes) {
    return bytes <= 4 ? LLVMIntTypeInContext(k->context, (unsigned)bytes * 8)
                      : LLVMVectorType(LLVMInt32TypeInContext(k->context), (unsigned)bytes / 4);
}

static LLVMValueRef at(struct igp_kernel *k, LLVMValueRef pointer, uint64_t offset) {
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(k->context), offset, false);
    return LLVMBuildInBoundsGEP2(k->builder, LLVMInt8TypeInContext(k->context), pointer, &index, 1,
                                 "");
}

static void lower_copy(struct igp_kernel *k, LLVMValueRef call) {
    LLVMValueRef to = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1);
    LLVMValueRef length = LLVMGetOperand(call, 2), is_volatile = LLVMGetOperand(call, 3);
    uint64_t align = alignment(call, 0), other = alignment(call, 1);
    align = other < align ? other : align;
    align = align > WIDEST ? WIDEST : align;
    if (!LLVMIsAConstantInt(length) || LLVMConstIntGetZExtValue(is_volatile) ||
        LLVMConstIntGetZExtValue(length) > MAX_BYTES) {
        return;
    }
    uint64_t bytes = LLVMConstIntGetZExtValue(length), offsets[MAX_PARTS];
    LLVMValueRef values[MAX_PARTS];
    unsigned count = 0;
    if (bytes / align + 5 > MAX_PARTS) {
        return;
    }
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

ingot_status igp_lower_copies(struct igp_kernel *kernel) {
    LLVMValueRef *calls = igp_collect(kernel, is_copy);
    for (LLVMValueRef *call = calls; call && *call; call++) {
        lower_copy(kernel, *call);
    }
    return calls ? INGOT_OK
                 : ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a kernel's copies");
}
