/*
 * Masked memory accesses for CPUs that have none. LLVM would make a branch per lane, and its passes
 * would meet thousands of blocks. Here each lane has an address of its own, which is that of a
 * spare place on the stack where the lane is off, and accesses it unasked.
 *
 * Requires the final vector code, with llvm.masked.load, store, gather and scatter in it.
 */
#include <string.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

enum { SPARE_BYTES = 16, MOST_LANES = 64 };

enum kind { LOAD, STORE, GATHER, SCATTER, NONE };

struct spare {
    LLVMBuilderRef builder;
    LLVMContextRef context;
    LLVMValueRef function, place; /* NULL: not made yet */
};

static enum kind kind_of(LLVMValueRef in) {
    switch (igi_intrinsic_of(in)) {
    case IGI_LLVM_masked_load:
        return LOAD;
    case IGI_LLVM_masked_store:
        return STORE;
    case IGI_LLVM_masked_gather:
        return GATHER;
    case IGI_LLVM_masked_scatter:
        return SCATTER;
    default:
        return NONE;
    }
}

static LLVMValueRef number(struct spare *s, unsigned value) {
    return LLVMConstInt(LLVMInt64TypeInContext(s->context), value, false);
}

static LLVMValueRef spare_place(struct spare *s) {
    if (!s->place) {
        LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(s->function);
        LLVMBuilderRef builder = LLVMCreateBuilderInContext(s->context);
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
        LLVMTypeRef bytes = LLVMArrayType2(LLVMInt8TypeInContext(s->context), SPARE_BYTES);
        s->place = LLVMBuildAlloca(builder, bytes, "spare");
        LLVMSetAlignment(s->place, SPARE_BYTES);
        LLVMDisposeBuilder(builder);
    }
    return s->place;
}

/* One value in every lane. */
static LLVMValueRef splat(struct spare *s, LLVMValueRef value, unsigned lanes) {
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(value), lanes);
    LLVMTypeRef indices = LLVMVectorType(LLVMInt32TypeInContext(s->context), lanes);
    LLVMValueRef first =
        LLVMBuildInsertElement(s->builder, LLVMGetPoison(type), value, number(s, 0), "");
    return LLVMBuildShuffleVector(s->builder, first, LLVMGetPoison(type), LLVMConstNull(indices),
                                  "");
}

/* The addresses of the lanes, spare ones where the mask is off. */
static LLVMValueRef addresses(struct spare *s, LLVMValueRef pointer, LLVMTypeRef element,
                              LLVMValueRef mask, unsigned lanes) {
    if (LLVMGetTypeKind(LLVMTypeOf(pointer)) != LLVMVectorTypeKind) {
        LLVMValueRef steps[MOST_LANES];
        for (unsigned i = 0; i < lanes; i++) {
            steps[i] = number(s, i);
        }
        LLVMValueRef along = LLVMConstVector(steps, lanes);
        pointer = LLVMBuildGEP2(s->builder, element, pointer, &along, 1, "");
    }
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(pointer));
    LLVMValueRef place = spare_place(s);
    if (LLVMTypeOf(place) != type) {
        place = LLVMBuildAddrSpaceCast(s->builder, place, type, "");
    }
    return LLVMBuildSelect(s->builder, mask, pointer, splat(s, place, lanes), "");
}

static LLVMValueRef load_lanes(struct spare *s, LLVMValueRef in) {
    LLVMValueRef mask = LLVMGetOperand(in, 2), otherwise = LLVMGetOperand(in, 3);
    LLVMTypeRef type = LLVMTypeOf(in), element = LLVMGetElementType(type);
    unsigned lanes = LLVMGetVectorSize(type);
    unsigned alignment = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(in, 1));
    LLVMValueRef from = addresses(s, LLVMGetOperand(in, 0), element, mask, lanes);
    LLVMValueRef result = LLVMGetPoison(type);
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef at = LLVMBuildExtractElement(s->builder, from, number(s, i), "");
        LLVMValueRef value = LLVMBuildLoad2(s->builder, element, at, "");
        LLVMSetAlignment(value, alignment);
        result = LLVMBuildInsertElement(s->builder, result, value, number(s, i), "");
    }
    return LLVMIsUndef(otherwise) ? result
                                  : LLVMBuildSelect(s->builder, mask, result, otherwise, "");
}

static void store_lanes(struct spare *s, LLVMValueRef in) {
    LLVMValueRef values = LLVMGetOperand(in, 0), mask = LLVMGetOperand(in, 3);
    LLVMTypeRef type = LLVMTypeOf(values);
    unsigned lanes = LLVMGetVectorSize(type);
    unsigned alignment = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(in, 2));
    LLVMValueRef to = addresses(s, LLVMGetOperand(in, 1), LLVMGetElementType(type), mask, lanes);
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef at = LLVMBuildExtractElement(s->builder, to, number(s, i), "");
        LLVMValueRef value = LLVMBuildExtractElement(s->builder, values, number(s, i), "");
        LLVMSetAlignment(LLVMBuildStore(s->builder, value, at), alignment);
    }
}

static void unmask(struct spare *s, LLVMValueRef in, enum kind kind) {
    LLVMPositionBuilderBefore(s->builder, in);
    if (kind == LOAD || kind == GATHER) {
        LLVMReplaceAllUsesWith(in, load_lanes(s, in));
    } else {
        store_lanes(s, in);
    }
    LLVMInstructionEraseFromParent(in);
}

void igc_unmask_memory(LLVMModuleRef module) {
    struct spare s = {.context = LLVMGetModuleContext(module)};
    s.builder = LLVMCreateBuilderInContext(s.context);
    igi_each_function(f, module) {
        s.function = f;
        s.place = NULL;
        igi_each_instruction_safe(in, f) {
            enum kind kind = kind_of(in);
            if (kind != NONE) {
                unmask(&s, in, kind);
            }
        }
    }
    LLVMDisposeBuilder(s.builder);
}
