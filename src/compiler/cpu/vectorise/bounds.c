/*
 * Leading bounds checks in versions that may decline.
 *
 * Many kernels begin with `if (i >= n) return;`. In almost every SIMD-group no lane returns, so
 * a version that assumes it needs no masks behind the check; at a SIMD-group where the
 * assumption fails it returns false, having done nothing, and the caller runs the version for
 * any mask instead. The test is one scalar comparison where the condition compares a linear
 * value with a uniform one: if the last lane is below the bound, all are.
 */
#include "compiler/cpu/vectorise/state.h"

enum igv_shape igv_shape_in_bounds(const struct igv_request *request, LLVMValueRef call,
                                   long *stride, unsigned *align_log2) {
    (void)call;
    *stride = 0;
    *align_log2 = 0;
    return request->may_decline ? IGV_UNIFORM : IGV_VARYING;
}

static LLVMValueRef both(struct igv_emit *emit, LLVMValueRef a, LLVMValueRef b) {
    /* a select, since b may be poison where a is false */
    return LLVMBuildSelect(emit->builder, a, b, LLVMConstNull(emit->i1), "");
}

/* The predicate for operands the other way round, or negated. */
static LLVMIntPredicate swapped(LLVMIntPredicate predicate) {
    switch (predicate) {
    case LLVMIntUGT:
        return LLVMIntULT;
    case LLVMIntUGE:
        return LLVMIntULE;
    case LLVMIntULT:
        return LLVMIntUGT;
    case LLVMIntULE:
        return LLVMIntUGE;
    case LLVMIntSGT:
        return LLVMIntSLT;
    case LLVMIntSGE:
        return LLVMIntSLE;
    case LLVMIntSLT:
        return LLVMIntSGT;
    case LLVMIntSLE:
        return LLVMIntSGE;
    default:
        return predicate;
    }
}

static LLVMIntPredicate negated(LLVMIntPredicate predicate) {
    switch (predicate) {
    case LLVMIntUGT:
        return LLVMIntULE;
    case LLVMIntUGE:
        return LLVMIntULT;
    case LLVMIntULT:
        return LLVMIntUGE;
    case LLVMIntULE:
        return LLVMIntUGT;
    case LLVMIntSGT:
        return LLVMIntSLE;
    case LLVMIntSGE:
        return LLVMIntSLT;
    case LLVMIntSLT:
        return LLVMIntSGE;
    case LLVMIntSLE:
        return LLVMIntSGT;
    case LLVMIntEQ:
        return LLVMIntNE;
    default:
        return LLVMIntEQ;
    }
}

/* linear < uniform (or <=) for all lanes: for the last, and none wraps. NULL: not of that form. */
static LLVMValueRef last_lane_below(struct igv_emit *emit, LLVMValueRef compare, bool wanted) {
    LLVMValueRef left = LLVMGetOperand(compare, 0), right = LLVMGetOperand(compare, 1);
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
    long stride;
    if (igv_exact_shape(emit, left, NULL) == IGV_V_UNIFORM) {
        LLVMValueRef other = left;
        left = right;
        right = other;
        predicate = swapped(predicate);
    }
    if (!wanted) {
        predicate = negated(predicate);
    }
    bool is_signed = predicate == LLVMIntSLT || predicate == LLVMIntSLE;
    if ((!is_signed && predicate != LLVMIntULT && predicate != LLVMIntULE) ||
        LLVMGetTypeKind(LLVMTypeOf(left)) != LLVMIntegerTypeKind ||
        igv_exact_shape(emit, right, NULL) != IGV_V_UNIFORM ||
        igv_exact_shape(emit, left, &stride) != IGV_V_LINEAR || stride <= 0 || stride > 1024) {
        return NULL;
    }
    unsigned long distance = (unsigned long)stride * (INGOT_SIMD_WIDTH - 1);
    if (LLVMGetIntTypeWidth(LLVMTypeOf(left)) < 32) {
        return NULL;
    }
    LLVMValueRef first = igv_scalar(emit, left);
    LLVMValueRef last =
        LLVMBuildAdd(emit->builder, first, LLVMConstInt(LLVMTypeOf(first), distance, 0), "");
    LLVMValueRef below =
        LLVMBuildICmp(emit->builder, predicate, last, igv_scalar(emit, right), "below");
    LLVMValueRef ordered =
        LLVMBuildICmp(emit->builder, is_signed ? LLVMIntSGE : LLVMIntUGE, last, first, "");
    return both(emit, ordered, below);
}

/* By the vectors: every lane's condition is what is wanted. */
static LLVMValueRef all_lanes(struct igv_emit *emit, LLVMValueRef condition, bool wanted) {
    LLVMValueRef all = NULL;
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef flags = igv_vector(emit, condition, chunk);
        if (!wanted) {
            flags = LLVMBuildNot(emit->builder, flags, "");
        }
        all = all ? LLVMBuildAnd(emit->builder, all, flags, "") : flags;
    }
    return igv_all(emit, all);
}

/* The two sides of a conjunction, if that is what `value` must be to be `wanted` everywhere. */
static bool conjunction(LLVMValueRef value, bool wanted, LLVMValueRef sides[2]) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    sides[0] = LLVMGetOperand(value, 0);
    if (opcode == (wanted ? LLVMAnd : LLVMOr)) {
        sides[1] = LLVMGetOperand(value, 1);
        return true;
    }
    if (opcode != LLVMSelect) {
        return false;
    }
    LLVMValueRef decided = LLVMGetOperand(value, wanted ? 2 : 1);
    sides[1] = LLVMGetOperand(value, wanted ? 1 : 2);
    return LLVMIsAConstantInt(decided) && LLVMConstIntGetZExtValue(decided) == !wanted;
}

static LLVMValueRef holds(struct igv_emit *emit, LLVMValueRef value, bool wanted,
                          LLVMBasicBlockRef home) {
    LLVMBuilderRef builder = emit->builder;
    if (igv_shape_of(emit, value) == IGV_UNIFORM) {
        LLVMValueRef scalar = igv_scalar(emit, value);
        return wanted ? scalar : LLVMBuildNot(builder, scalar, "");
    }
    /* operands of what stands in another block may not be there any more */
    if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != home) {
        return all_lanes(emit, value, wanted);
    }
    LLVMValueRef sides[2], below;
    if (conjunction(value, wanted, sides)) {
        LLVMValueRef first = holds(emit, sides[0], wanted, home);
        return both(emit, first, holds(emit, sides[1], wanted, home));
    }
    if (LLVMIsAICmpInst(value) && (below = last_lane_below(emit, value, wanted))) {
        return below;
    }
    return all_lanes(emit, value, wanted);
}

void igv_emit_in_bounds(struct igv_emit *emit, LLVMValueRef call) {
    LLVMValueRef condition = LLVMGetOperand(call, 0), wanted = LLVMGetOperand(call, 1);
    if (!emit->request->may_decline) {
        for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
            igv_define_vector(emit, call, chunk, igv_vector(emit, condition, chunk));
        }
        return;
    }
    if (igv_shape_of(emit, condition) == IGV_UNIFORM) {
        igv_define_scalar(emit, call, igv_scalar(emit, condition));
        return;
    }
    LLVMValueRef all = holds(emit, condition, LLVMConstIntGetZExtValue(wanted) != 0,
                             LLVMGetInstructionParent(call));
    LLVMBasicBlockRef inside = igv_append_block(emit, "inside");
    LLVMBasicBlockRef decline = igv_append_block(emit, "decline");
    LLVMBuildCondBr(emit->builder, all, inside, decline);
    LLVMPositionBuilderAtEnd(emit->builder, decline);
    LLVMBuildRet(emit->builder, LLVMConstNull(emit->i1));
    LLVMPositionBuilderAtEnd(emit->builder, inside);
    igv_define_scalar(emit, call, wanted);
}
