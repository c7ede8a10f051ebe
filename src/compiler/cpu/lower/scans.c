/*
 * __ingot_simd_prefix_*: sums and products over the active lanes below, with or without the
 * own lane. Inactive lanes add nothing; what they receive is not used.
 */
#include "compiler/cpu/lower/lower.h"

static void scan(struct igv_emit *emit, LLVMValueRef call, enum igl_operator op, bool exclusive) {
    LLVMValueRef value = igl_operand(call, 0);
    LLVMTypeRef scalar = LLVMTypeOf(value);
    /* +0, not the exact identity -0: the first lane of an exclusive sum shows it */
    LLVMValueRef identity = op == IGL_ADD ? LLVMConstNull(scalar) : igl_identity(emit, op, scalar);
    struct igl_chunks result =
        igl_scan(emit, op, igl_active_or(emit, value, identity), exclusive, identity);
    igl_define_chunks(emit, call, &result);
}

void igl_inclusive_sum(struct igv_emit *emit, LLVMValueRef call) {
    scan(emit, call, IGL_ADD, false);
}

void igl_exclusive_sum(struct igv_emit *emit, LLVMValueRef call) {
    scan(emit, call, IGL_ADD, true);
}

void igl_inclusive_product(struct igv_emit *emit, LLVMValueRef call) {
    scan(emit, call, IGL_MUL, false);
}

void igl_exclusive_product(struct igv_emit *emit, LLVMValueRef call) {
    scan(emit, call, IGL_MUL, true);
}
