/*
 * __ingot_simd_{sum,product,min,max,and,or,xor}_*: one scalar from the active lanes.
 *
 * Inactive lanes count as the operator's identity; the order is operators.c's halving tree.
 */
#include "compiler/cpu/lower/lower.h"

static void reduce(struct igv_emit *emit, LLVMValueRef call, enum igl_operator op) {
    LLVMValueRef value = igl_operand(call, 0);
    bool idempotent = op != IGL_ADD && op != IGL_MUL && op != IGL_XOR;
    if (idempotent && igv_shape_of(emit, value) == IGV_UNIFORM) {
        igl_define_uniform(emit, call, igv_scalar(emit, value));
        return;
    }
    LLVMValueRef identity = igl_identity(emit, op, LLVMTypeOf(value));
    igl_define_uniform(emit, call, igl_reduce(emit, op, igl_active_or(emit, value, identity)));
}

void igl_reduce_add(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_ADD);
}

void igl_reduce_mul(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_MUL);
}

void igl_reduce_min(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_MIN);
}

void igl_reduce_max(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_MAX);
}

void igl_reduce_umin(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_UMIN);
}

void igl_reduce_umax(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_UMAX);
}

void igl_reduce_and(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_AND);
}

void igl_reduce_or(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_OR);
}

void igl_reduce_xor(struct igv_emit *emit, LLVMValueRef call) {
    reduce(emit, call, IGL_XOR);
}
