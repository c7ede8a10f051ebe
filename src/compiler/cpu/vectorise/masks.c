/*
 * Masks. In SSA form a mask is one <lanes x i1> per chunk; in slots it is that (AVX-512, where
 * it lives in a mask register) or <lanes x i32> of 0 and -1 (AVX2, where it lives in an
 * ordinary one and i1 vectors across blocks would be packed and unpacked at every edge).
 */
#include "compiler/cpu/vectorise/state.h"

LLVMTypeRef igv_mask_type(struct igv_emit *emit) {
    return igv_vector_type(emit, emit->i1);
}

LLVMTypeRef igv_mask_slot_type(struct igv_emit *emit) {
    bool bits = emit->request->target->bit_masks;
    return igv_vector_type(emit, bits ? emit->i1 : emit->i32);
}

LLVMValueRef igv_mask_to_slot(struct igv_emit *emit, LLVMValueRef mask) {
    if (emit->request->target->bit_masks) {
        return mask;
    }
    return LLVMBuildSExt(emit->builder, mask, igv_mask_slot_type(emit), "");
}

LLVMValueRef igv_mask_from_slot(struct igv_emit *emit, LLVMValueRef stored) {
    if (emit->request->target->bit_masks) {
        return stored;
    }
    return LLVMBuildICmp(emit->builder, LLVMIntSLT, stored, LLVMConstNull(igv_mask_slot_type(emit)),
                         "");
}

static LLVMValueRef chunk_bits(struct igv_emit *emit, LLVMValueRef mask) {
    LLVMTypeRef bits = LLVMIntTypeInContext(emit->context, emit->lanes);
    return LLVMBuildBitCast(emit->builder, mask, bits, "");
}

LLVMValueRef igv_any(struct igv_emit *emit, LLVMValueRef *masks) {
    LLVMValueRef any = masks[0];
    for (unsigned chunk = 1; chunk < emit->chunks; chunk++) {
        any = LLVMBuildOr(emit->builder, any, masks[chunk], "");
    }
    LLVMValueRef bits = chunk_bits(emit, any);
    return LLVMBuildICmp(emit->builder, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "any");
}

LLVMValueRef igv_all(struct igv_emit *emit, LLVMValueRef mask) {
    LLVMValueRef bits = chunk_bits(emit, mask);
    return LLVMBuildICmp(emit->builder, LLVMIntEQ, bits, LLVMConstAllOnes(LLVMTypeOf(bits)), "all");
}

LLVMValueRef igv_bits_of(struct igv_emit *emit, LLVMValueRef *masks) {
    LLVMValueRef result = NULL;
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef bits = chunk_bits(emit, masks[chunk]);
        bits = LLVMBuildZExt(emit->builder, bits, emit->i32, "");
        if (chunk) {
            bits = LLVMBuildShl(emit->builder, bits, igv_u32(emit, chunk * emit->lanes), "");
        }
        result = result ? LLVMBuildOr(emit->builder, result, bits, "") : bits;
    }
    return result;
}

LLVMValueRef igv_mask(struct igv_emit *emit, unsigned chunk) {
    return emit->state->mask[chunk];
}

LLVMValueRef igv_mask_bits(struct igv_emit *emit) {
    return igv_bits_of(emit, emit->state->mask);
}

bool igv_mask_is_full(struct igv_emit *emit) {
    return emit->request->full_mask && emit->state->entry_masked[emit->state->block];
}
