/*
 * Threadgroup memory with its pieces of 16 bytes permuted: the matrix units read lines of 128 bytes
 * without conflicts between banks if piece p of line l is where piece p ^ (l % 8) would be (the
 * 128-byte swizzle of wgmma's descriptors), counted from address 0. If every access of a kernel
 * goes to the permuted place, and none is to two pieces, nobody notices.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

enum { PIECE = 16, REPEATS = 1024 };

static bool is_shared(LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind &&
           LLVMGetPointerAddressSpace(type) == INGOT_SPACE_THREADGROUP;
}

/* Does an access of a type stay within a piece? */
static bool is_within(LLVMTargetDataRef layout, LLVMTypeRef type, unsigned alignment) {
    const uint64_t size = LLVMStoreSizeOfType(layout, type);
    return size <= PIECE && (size & (size - 1)) == 0 && alignment >= size;
}

/* The operand that is the place of an access in threadgroup memory; -1 if there is none, -2 if it
 * is not within a piece. */
static int place_of(LLVMTargetDataRef layout, LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMLoad:
        return !is_shared(LLVMGetOperand(in, 0))                         ? -1
               : is_within(layout, LLVMTypeOf(in), LLVMGetAlignment(in)) ? 0
                                                                         : -2;
    case LLVMStore:
        return !is_shared(LLVMGetOperand(in, 1))                                            ? -1
               : is_within(layout, LLVMTypeOf(LLVMGetOperand(in, 0)), LLVMGetAlignment(in)) ? 1
                                                                                            : -2;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return is_shared(LLVMGetOperand(in, 0)) ? 0 : -1;
    default:
        return -1;
    }
}

/* Does it only compute places, or is it an access that this knows? */
static bool is_known_use(LLVMTargetDataRef layout, LLVMValueRef in, unsigned operand) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMGetElementPtr:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMICmp:
        return true;
    case LLVMCall:
        return igp_is_small_copy(in) || igi_family_of(in) == IGI_FAMILY_LOAD_THREADGROUP ||
               igi_family_of(in) == IGI_FAMILY_STORE_THREADGROUP;
    default:
        return place_of(layout, in) == (int)operand;
    }
}

bool igp_can_swizzle(struct igc_kernel *k) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(k->module);
    igi_each_instruction(in, k->function) {
        for (int i = 0; i < LLVMGetNumOperands(in); i++) {
            if (is_shared(LLVMGetOperand(in, (unsigned)i)) &&
                !is_known_use(layout, in, (unsigned)i)) {
                return false;
            }
        }
    }
    return true;
}

/* The permuted place of an address. */
static LLVMValueRef permuted(LLVMBuilderRef builder, LLVMValueRef address) {
    LLVMTypeRef type = LLVMTypeOf(address);
    LLVMValueRef line = LLVMBuildLShr(builder, address, LLVMConstInt(type, 3, false), "");
    line = LLVMBuildAnd(builder, line, LLVMConstInt(type, 7 * PIECE, false), "");
    return LLVMBuildXor(builder, address, line, "");
}

LLVMValueRef igp_swizzled(LLVMBuilderRef builder, LLVMTargetDataRef layout, LLVMValueRef pointer) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(pointer)));
    int64_t offset;
    LLVMValueRef base = igp_base_in(layout, pointer, &offset);
    const bool apart = offset % REPEATS == 0; /* the same for all such distances */
    LLVMValueRef address = LLVMBuildPtrToInt(builder, apart ? base : pointer, i32, "");
    address = permuted(builder, address);
    return apart && offset
               ? LLVMBuildAdd(builder, address, LLVMConstInt(i32, (uint64_t)offset, true), "")
               : address;
}

enum igc_result igp_swizzle(struct igc_kernel *kernel) {
    LLVMTargetDataRef layout = kernel->layout;
    LLVMBuilderRef builder = kernel->builder;
    ingot_status status = INGOT_OK;
    igi_each_instruction(in, kernel->function) {
        const int at = place_of(layout, in);
        if (at == -2) {
            status = ig_fail(kernel->error, INGOT_INTERNAL_ERROR,
                             "an access to threadgroup memory is not within 16 bytes");
        }
        if (at < 0) {
            continue;
        }
        LLVMValueRef pointer = LLVMGetOperand(in, (unsigned)at);
        LLVMPositionBuilderBefore(builder, in);
        LLVMValueRef address = igp_swizzled(builder, layout, pointer);
        LLVMSetOperand(in, (unsigned)at,
                       LLVMBuildIntToPtr(builder, address, LLVMTypeOf(pointer), ""));
    }
    return igc_result_of(status);
}
