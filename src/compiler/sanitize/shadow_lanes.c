/*
 * Shadows between lanes: a lane that reads another one gets that lane's shadow, or is told that
 * there is no such lane; what all active lanes make together is as bad as the worst of them.
 *
 * Reading past the end of the SIMD-group (simd_shuffle_down and its kin) is known by how the
 * prelude writes it: the lane that is asked for is then the own one. A product of tiles is bad
 * where its row of A, its column of B or its element of C is.
 */
#include "compiler/ir/builtins.h"
#include "compiler/sanitize/shadow.h"

enum { LANES = 32 };

static LLVMValueRef word(struct igs_shadows *shadows, uint32_t value) {
    return igc_integer(shadows->kernel->i32, value);
}

/* The lanes for which an i1 is true. */
static LLVMValueRef lanes_where(struct igs_shadows *shadows, LLVMValueRef condition) {
    return igs_call(shadows->kernel, IGI_simd_ballot, &condition, 1);
}

static LLVMValueRef own_lane(struct igs_shadows *shadows) {
    return igs_call(shadows->kernel, IGI_thread_index_in_simdgroup, NULL, 0);
}

static LLVMValueRef is_any(struct igs_shadows *shadows, LLVMValueRef bits) {
    return LLVMBuildICmp(shadows->kernel->builder, LLVMIntNE, bits, word(shadows, 0), "");
}

static bool is_own_lane(LLVMValueRef value) {
    return igi_is_call_of(value, IGI_thread_index_in_simdgroup);
}

/* i1: the prelude chose the own lane, because the one that was asked for is past the end. */
static LLVMValueRef is_past_end(struct igs_shadows *shadows, LLVMValueRef index) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMTypeRef bit = shadows->kernel->i1;
    if (LLVMIsASelectInst(index) && is_own_lane(LLVMGetOperand(index, 1))) {
        return LLVMGetOperand(index, 0);
    }
    if (!LLVMIsAPHINode(index)) {
        return igc_integer(bit, 0);
    }
    bool any = false;
    for (unsigned i = 0; i < LLVMCountIncoming(index); i++) {
        any |= is_own_lane(LLVMGetIncomingValue(index, i));
    }
    if (!any) {
        return igc_integer(bit, 0);
    }
    LLVMPositionBuilderBefore(b, index);
    LLVMValueRef phi = LLVMBuildPhi(b, bit, "");
    for (unsigned i = 0; i < LLVMCountIncoming(index); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(index, i);
        LLVMValueRef is = igc_integer(bit, is_own_lane(LLVMGetIncomingValue(index, i)));
        LLVMAddIncoming(phi, &is, &from, 1);
    }
    return phi;
}

/* Is the lane that is read there and active? */
static LLVMValueRef is_missing(struct igs_shadows *shadows, LLVMValueRef call) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMValueRef index = LLVMGetOperand(call, 1);
    LLVMValueRef past = is_past_end(shadows, index);
    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef active = lanes_where(shadows, igc_integer(shadows->kernel->i1, 1));
    LLVMValueRef low = LLVMBuildAnd(b, index, word(shadows, LANES - 1), "");
    LLVMValueRef bit = LLVMBuildAnd(b, LLVMBuildLShr(b, active, low, ""), word(shadows, 1), "");
    LLVMValueRef absent = LLVMBuildICmp(b, LLVMIntEQ, bit, word(shadows, 0), "");
    LLVMValueRef beyond = LLVMBuildICmp(b, LLVMIntUGE, index, word(shadows, LANES), "");
    return LLVMBuildOr(b, LLVMBuildOr(b, absent, beyond, ""), past, "");
}

static LLVMValueRef shuffled(struct igs_shadows *shadows, LLVMValueRef call) {
    struct igc_kernel *kernel = shadows->kernel;
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef value = LLVMGetOperand(call, 0), index = LLVMGetOperand(call, 1);
    LLVMValueRef result = word(shadows, 0);
    if (igs_may_be(shadows, index)) {
        igs_check_use(shadows, call, igs_shadow_of(shadows, index), igs_may_be(shadows, index),
                      IGS_USE_LANE, NULL);
    }
    if (igs_may_be(shadows, value)) {
        LLVMValueRef args[] = {igs_shadow_of(shadows, value), index};
        result = igs_call(kernel, IGI_simd_shuffle_b32, args, 2);
    }
    if (shadows->asked & IGS_MAY_NO_LANE) {
        LLVMValueRef source =
            igs_source(shadows, igs_origin_of(shadows, call, NULL), IGS_MAY_NO_LANE);
        result = LLVMBuildSelect(b, is_missing(shadows, call), source, result, "");
    }
    return result;
}

/* The worst of all active lanes, which comes from where that lane's value does. */
static LLVMValueRef worst_of_all(struct igs_shadows *shadows, LLVMValueRef shadow) {
    return igs_call(shadows->kernel, IGI_simd_max_u32, &shadow, 1);
}

/* The worst of the lanes that `counts` says, of those that are bad: as i32, the call's own place
 * being where it comes from. */
static LLVMValueRef worst_of(struct igs_shadows *shadows, LLVMValueRef call, LLVMValueRef shadow,
                             LLVMValueRef counts, unsigned may) {
    LLVMBuilderRef b = shadows->kernel->builder;
    uint32_t origin = igs_origin_of(shadows, call, NULL);
    LLVMValueRef result = word(shadows, 0);
    if (may & IGS_MAY_NO_LANE) {
        LLVMValueRef bad = lanes_where(shadows, igs_is_bad(shadows, shadow));
        bad = LLVMBuildAnd(b, bad, counts, "");
        result = LLVMBuildSelect(b, is_any(shadows, bad),
                                 igs_source(shadows, origin, IGS_MAY_NO_LANE), result, "");
    }
    if (may & IGS_MAY_UNWRITTEN) {
        LLVMValueRef mark = word(shadows, INGOT_CPU_NEVER_WRITTEN);
        LLVMValueRef bad = lanes_where(shadows, LLVMBuildICmp(b, LLVMIntUGE, shadow, mark, ""));
        bad = LLVMBuildAnd(b, bad, counts, "");
        result = LLVMBuildSelect(b, is_any(shadows, bad),
                                 igs_source(shadows, origin, IGS_MAY_UNWRITTEN), result, "");
    }
    return result;
}

/* The lanes before the own one, and itself if inclusive. */
static LLVMValueRef lanes_before(struct igs_shadows *shadows, LLVMValueRef call) {
    LLVMBuilderRef b = shadows->kernel->builder;
    enum igi_builtin builtin = igi_builtin_of(call);
    bool is_exclusive = builtin == IGI_simd_prefix_exclusive_sum_f32 ||
                        builtin == IGI_simd_prefix_exclusive_sum_u32 ||
                        builtin == IGI_simd_prefix_exclusive_sum_u64 ||
                        builtin == IGI_simd_prefix_exclusive_product_f32 ||
                        builtin == IGI_simd_prefix_exclusive_product_u32 ||
                        builtin == IGI_simd_prefix_exclusive_product_u64;
    LLVMValueRef first = word(shadows, is_exclusive ? 1 : 2);
    LLVMValueRef end = LLVMBuildShl(b, first, own_lane(shadows), "");
    return LLVMBuildSub(b, end, word(shadows, 1), "");
}

/* ---- products of tiles ---- */

/* Lane bits b4…b0 hold row 4·b4 + 2·b2 + b1 and columns 4·b3 + 2·b0 + {0, 1}. */
enum { ROW_BITS = 0x16, COLUMN_BITS = 0x09, ROW = 0x303, COLUMN = 0x00550055 };

static LLVMValueRef lanes_alike(struct igs_shadows *shadows, uint32_t bits, uint32_t first) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMValueRef base = LLVMBuildAnd(b, own_lane(shadows), word(shadows, bits), "");
    return LLVMBuildShl(b, word(shadows, first), base, "");
}

static LLVMValueRef product(struct igs_shadows *shadows, LLVMValueRef call) {
    struct igs_shadows *s = shadows;
    LLVMValueRef which = LLVMGetOperand(call, 5);
    bool second = LLVMIsAConstantInt(which) && LLVMConstIntGetZExtValue(which) == 1;
    unsigned a_may =
        igs_may_be(s, LLVMGetOperand(call, 0)) | igs_may_be(s, LLVMGetOperand(call, 1));
    LLVMValueRef b_value = LLVMGetOperand(call, second ? 3 : 2);
    unsigned b_may = igs_may_be(s, b_value);
    LLVMValueRef result = igs_shadow_of(s, LLVMGetOperand(call, 4));
    if (a_may) {
        LLVMValueRef a = igs_larger(s, igs_shadow_of(s, LLVMGetOperand(call, 0)),
                                    igs_shadow_of(s, LLVMGetOperand(call, 1)));
        LLVMValueRef row = lanes_alike(s, ROW_BITS, ROW);
        result = igs_larger(s, result, worst_of(s, call, a, row, a_may));
    }
    if (b_may) {
        LLVMValueRef column = lanes_alike(s, COLUMN_BITS, COLUMN);
        LLVMValueRef worst = worst_of(s, call, igs_shadow_of(s, b_value), column, b_may);
        result = igs_larger(s, result, worst);
    }
    return result;
}

void igs_shadow_lanes(struct igs_shadows *shadows, LLVMValueRef call) {
    LLVMValueRef value = LLVMGetOperand(call, 0), result;
    switch (igi_family_of(call)) {
    case IGI_FAMILY_SHUFFLE:
        result = shuffled(shadows, call);
        break;
    case IGI_FAMILY_MATRIX_PRODUCT:
        result = product(shadows, call);
        break;
    default:
        if (!igs_may_be(shadows, value)) {
            return;
        }
        result = igi_family_of(call) == IGI_FAMILY_PREFIX
                     ? worst_of(shadows, call, igs_shadow_of(shadows, value),
                                lanes_before(shadows, call), igs_may_be(shadows, value))
                     : worst_of_all(shadows, igs_shadow_of(shadows, value));
        break;
    }
    igs_set_shadow(shadows, call, result);
}
