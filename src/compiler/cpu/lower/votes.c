/*
 * __ingot_simd_ballot: which active lanes hold true, as one bit each.
 */
#include "compiler/cpu/lower/lower.h"

/* The chunk's lanes as the low bits of an i32. */
static LLVMValueRef bits_of(struct igv_emit *emit, LLVMValueRef flags) {
    LLVMTypeRef packed = LLVMIntTypeInContext(emit->context, emit->lanes);
    LLVMValueRef bits = LLVMBuildBitCast(emit->builder, flags, packed, "");
    return emit->lanes < 32 ? LLVMBuildZExt(emit->builder, bits, emit->i32, "") : bits;
}

void igl_ballot(struct igv_emit *emit, LLVMValueRef call) {
    LLVMBuilderRef builder = emit->builder;
    LLVMValueRef flag = igl_operand(call, 0);
    if (igv_shape_of(emit, flag) == IGV_UNIFORM) {
        LLVMValueRef active = igv_mask_bits(emit);
        igl_define_uniform(
            emit, call,
            LLVMBuildSelect(builder, igv_scalar(emit, flag), active, igv_u32(emit, 0), ""));
        return;
    }
    /* a select, since an inactive lane may hold poison */
    struct igl_chunks flags = igl_active_or(emit, flag, LLVMConstNull(emit->i1));
    LLVMValueRef bits = bits_of(emit, flags.chunk[0]);
    for (unsigned c = 1; c < emit->chunks; c++) {
        LLVMValueRef above = LLVMBuildShl(builder, bits_of(emit, flags.chunk[c]),
                                          igv_u32(emit, c * emit->lanes), "");
        bits = LLVMBuildOr(builder, bits, above, "");
    }
    igl_define_uniform(emit, call, bits);
}
