/*
 * Shapes of integer arithmetic: when base + lane * stride stays that, or becomes uniform.
 *
 * Every rule here must hold modulo 2^width, and the result must be what the instruction gives
 * when it is run on lane 0's scalars alone: emission computes uniform and linear results so.
 */
#include "compiler/analysis/shapes.h"

#define LAST_LANE 31

struct igv_fact igv_uniform(unsigned align) {
    return (struct igv_fact){.shape = IGV_V_UNIFORM,
                             .align = align > IGV_MAX_ALIGN ? IGV_MAX_ALIGN : align,
                             .no_wrap = true,
                             .no_signed_wrap = true};
}

struct igv_fact igv_varying(void) {
    return (struct igv_fact){.shape = IGV_V_VARYING};
}

struct igv_span igv_span_of(const struct igv_fact *fact) {
    struct igv_span span = {0};
    if (fact->shape != IGV_V_LINEAR || fact->stride <= 0 || fact->stride > (1l << 40)) {
        return span;
    }
    uint64_t most = (uint64_t)fact->stride * LAST_LANE;
    while (most >> span.width) {
        span.width++;
    }
    uint64_t low = ((uint64_t)fact->stride & -(uint64_t)fact->stride) - 1;
    span.bits = ((UINT64_C(1) << span.width) - 1) & ~low;
    span.known = span.width <= fact->align;
    return span;
}

struct igv_fact igv_linear(unsigned width, long stride, unsigned align, bool no_wrap) {
    long folded = stride;
    if (width < 64) {
        uint64_t shifted = (uint64_t)stride << (64 - width);
        folded = (long)shifted >> (64 - width);
    }
    if (folded == 0) {
        return igv_uniform(align);
    }
    if (width < 8) { /* bits and nibbles are not worth a linear form */
        return igv_varying();
    }
    struct igv_fact fact = {.shape = IGV_V_LINEAR,
                            .stride = folded,
                            .align = align > IGV_MAX_ALIGN ? IGV_MAX_ALIGN : align,
                            .no_wrap = no_wrap && folded == stride};
    struct igv_span span = igv_span_of(&fact);
    if (span.known && span.width <= width) {
        fact.no_wrap = true;
    }
    if (span.known && span.width < width) {
        fact.no_signed_wrap = true;
    }
    return fact;
}

unsigned igv_integer_width(LLVMTypeRef type) {
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
        return 64;
    }
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static bool is_constant(LLVMValueRef value, uint64_t *bits) {
    if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) {
        return false;
    }
    *bits = LLVMConstIntGetZExtValue(value);
    return true;
}

static bool either_is(const struct igv_fact *left, const struct igv_fact *right,
                      enum igv_value_shape shape) {
    return left->shape == shape || right->shape == shape;
}

/* Lane values are exact sums, products, … of exact operands when even the largest fit. */
static bool exact_operands(const struct igv_fact *left, const struct igv_fact *right) {
    return left->no_wrap && right->no_wrap;
}

static struct igv_fact checked_or_linear(const struct igv_fact *left, const struct igv_fact *right,
                                         struct igv_fact result) {
    if (either_is(left, right, IGV_V_CHECKED) && result.shape == IGV_V_LINEAR) {
        result.shape = IGV_V_CHECKED;
        result.no_wrap = result.no_signed_wrap = false;
    }
    return result;
}

/* add, and or of disjoint bits, and sub. */
static struct igv_fact sum_fact(LLVMValueRef instruction, const struct igv_fact *left,
                                const struct igv_fact *right, bool subtract) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    LLVMValueRef a = LLVMGetOperand(instruction, 0), b = LLVMGetOperand(instruction, 1);
    long stride;
    if (either_is(left, right, IGV_V_VARYING) ||
        (subtract ? __builtin_sub_overflow(left->stride, right->stride, &stride)
                  : __builtin_add_overflow(left->stride, right->stride, &stride))) {
        return igv_varying();
    }
    unsigned align = left->align < right->align ? left->align : right->align;
    /* Where lanes are taken away from, a checked value going to stride 0 would lose the check. */
    if (stride == 0 && either_is(left, right, IGV_V_CHECKED)) {
        return igv_varying();
    }
    bool is_or = LLVMGetInstructionOpcode(instruction) == LLVMOr;
    bool nuw = is_or || LLVMGetNUW(instruction), nsw = !is_or && LLVMGetNSW(instruction);
    bool exact = false;
    if (exact_operands(left, right)) {
        uint64_t total, limit = igv_type_maximum(type);
        if (!subtract) {
            exact = (!__builtin_add_overflow(igv_known_maximum(a), igv_known_maximum(b), &total) &&
                     total <= limit) ||
                    (nuw && stride >= 0); /* then lane 0, active or not, wraps least */
        } else {
            exact = nuw && stride <= 0;
        }
    }
    struct igv_fact result = igv_linear(igv_integer_width(type), stride, align, exact);
    result.no_signed_wrap |= nsw && left->no_signed_wrap && right->no_signed_wrap;
    return checked_or_linear(left, right, result);
}

static struct igv_fact scaled_fact(LLVMValueRef instruction, const struct igv_fact *left,
                                   uint64_t factor, unsigned align) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    unsigned width = igv_integer_width(type);
    long stride;
    uint64_t most;
    if (left->shape == IGV_V_VARYING) {
        return igv_varying();
    }
    bool exact = left->no_wrap && factor <= INT32_MAX &&
                 ((!__builtin_mul_overflow(igv_known_maximum(LLVMGetOperand(instruction, 0)),
                                           factor, &most) &&
                   most <= igv_type_maximum(type)) ||
                  (LLVMGetNUW(instruction) && left->stride >= 0));
    if (width == 64 && __builtin_mul_overflow(left->stride, (long)factor, &stride)) {
        return igv_varying();
    }
    stride = (long)((uint64_t)left->stride * factor); /* modulo the width below 64 */
    if (stride == 0 && left->shape == IGV_V_CHECKED) {
        return igv_varying();
    }
    struct igv_fact result = igv_linear(width, stride, align, exact);
    result.no_signed_wrap |= LLVMGetNSW(instruction) && left->no_signed_wrap;
    struct igv_fact none = igv_uniform(0);
    return checked_or_linear(left, &none, result);
}

static struct igv_fact masked_fact(const struct igv_fact *linear, uint64_t mask, unsigned width) {
    struct igv_span span = igv_span_of(linear);
    unsigned align = mask ? (unsigned)__builtin_ctzll(mask) : IGV_MAX_ALIGN;
    if (align < linear->align) {
        align = linear->align;
    }
    if (!span.known || span.width > width) {
        return igv_varying();
    }
    if (!(mask & span.bits)) {
        return igv_uniform(align);
    }
    if ((mask & span.bits) == span.bits) {
        return igv_linear(width, linear->stride, linear->align, true);
    }
    return igv_varying();
}

/* x | y and x ^ y where y is uniform and touches no bit in which the lanes differ. */
static struct igv_fact merged_fact(LLVMValueRef y, const struct igv_fact *linear,
                                   const struct igv_fact *other, unsigned width) {
    struct igv_span span = igv_span_of(linear);
    uint64_t constant;
    if (other->shape != IGV_V_UNIFORM || !span.known || span.width > width) {
        return igv_varying();
    }
    bool disjoint =
        is_constant(y, &constant) ? !(constant & span.bits) : other->align >= span.width;
    if (!disjoint) {
        return igv_varying();
    }
    unsigned align = linear->align < other->align ? linear->align : other->align;
    return igv_linear(width, linear->stride, align, true);
}

static struct igv_fact shifted_down_fact(LLVMValueRef instruction, const struct igv_fact *linear,
                                         uint64_t shift, bool arithmetic) {
    unsigned width = igv_integer_width(LLVMTypeOf(instruction));
    struct igv_span span = igv_span_of(linear);
    if (shift >= width) {
        return igv_varying();
    }
    unsigned align = linear->align > shift ? linear->align - (unsigned)shift : 0;
    bool safe = span.known && span.width < width;
    if (safe && span.width <= shift) {
        return igv_uniform(align);
    }
    bool divides = linear->stride % (1l << (shift < 62 ? shift : 62)) == 0;
    bool exact = safe || (linear->no_wrap && !arithmetic);
    if (divides && linear->align >= shift && exact) {
        return igv_linear(width, linear->stride / (1l << shift), align, true);
    }
    return igv_varying();
}

static struct igv_fact uniform_result(LLVMValueRef instruction, const struct igv_fact *left,
                                      const struct igv_fact *right) {
    LLVMValueRef b = LLVMGetOperand(instruction, 1);
    unsigned low = left->align < right->align ? left->align : right->align;
    uint64_t constant = 0;
    bool known = is_constant(b, &constant);
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor:
        return igv_uniform(low);
    case LLVMAnd:
        return igv_uniform(left->align > right->align ? left->align : right->align);
    case LLVMMul:
        return igv_uniform(left->align + right->align);
    case LLVMShl:
        return igv_uniform(known && constant < 64 ? left->align + (unsigned)constant : left->align);
    case LLVMLShr:
    case LLVMAShr:
        return igv_uniform(known && constant < left->align ? left->align - (unsigned)constant : 0);
    default:
        return igv_uniform(0);
    }
}

struct igv_fact igv_binary_fact(LLVMValueRef instruction, const struct igv_fact *left,
                                const struct igv_fact *right) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    LLVMValueRef a = LLVMGetOperand(instruction, 0), b = LLVMGetOperand(instruction, 1);
    unsigned width = igv_integer_width(LLVMTypeOf(instruction));
    uint64_t constant;
    if (left->shape == IGV_V_UNIFORM && right->shape == IGV_V_UNIFORM) {
        return width ? uniform_result(instruction, left, right) : igv_uniform(0);
    }
    if (!width || width > 64) {
        return igv_varying();
    }
    switch (opcode) {
    case LLVMAdd:
    case LLVMSub:
        return sum_fact(instruction, left, right, opcode == LLVMSub);
    case LLVMMul:
        if (is_constant(b, &constant)) {
            return scaled_fact(instruction, left, constant, left->align + right->align);
        }
        return igv_varying();
    case LLVMShl:
        if (is_constant(b, &constant) && constant < width) {
            return scaled_fact(instruction, left, UINT64_C(1) << constant,
                               left->align + (unsigned)constant);
        }
        return igv_varying();
    default:
        break;
    }
    if (left->shape != IGV_V_LINEAR) {
        bool swapped = (opcode == LLVMOr || opcode == LLVMXor) && right->shape == IGV_V_LINEAR;
        return swapped ? merged_fact(a, right, left, width) : igv_varying();
    }
    switch (opcode) {
    case LLVMOr:
        if (LLVMGetIsDisjoint(instruction) && right->shape <= IGV_V_LINEAR) {
            return sum_fact(instruction, left, right, false);
        }
        return merged_fact(b, left, right, width);
    case LLVMXor:
        return merged_fact(b, left, right, width);
    case LLVMAnd:
        return is_constant(b, &constant) ? masked_fact(left, constant, width) : igv_varying();
    case LLVMLShr:
    case LLVMAShr:
        return is_constant(b, &constant)
                   ? shifted_down_fact(instruction, left, constant, opcode == LLVMAShr)
                   : igv_varying();
    case LLVMUDiv:
        if (is_constant(b, &constant) && constant && !(constant & (constant - 1))) {
            return shifted_down_fact(instruction, left, (unsigned)__builtin_ctzll(constant), false);
        }
        return igv_varying();
    case LLVMURem:
        if (is_constant(b, &constant) && constant && !(constant & (constant - 1))) {
            return masked_fact(left, constant - 1, width);
        }
        return igv_varying();
    default:
        return igv_varying();
    }
}

/* ---- casts --------------------------------------------------------------------------------- */
#define PLAUSIBLE_STRIDE   (1l << 20)
#define PLAUSIBLE_CONSTANT (1l << 28)

/* Positions arrive unsigned, and much code keeps them in an int: no flag then says that the
 * sum does not pass 2^31 in the middle of a SIMD-group. It is taken not to, unless large
 * constants in the sum suggest arithmetic that is meant to wrap. */
static bool plausible_index(LLVMValueRef value, unsigned depth) {
    if (!LLVMIsAInstruction(value) || depth > 4) {
        return true;
    }
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    if (opcode == LLVMShl || (LLVMIsABinaryOperator(value) && opcode != LLVMLShr)) {
        LLVMValueRef b = LLVMGetOperand(value, 1);
        if (LLVMIsAConstantInt(b)) {
            long constant = (long)LLVMConstIntGetSExtValue(b);
            long limit = opcode == LLVMMul ? PLAUSIBLE_STRIDE : PLAUSIBLE_CONSTANT;
            if (opcode == LLVMShl ? constant > 20 : constant > limit || constant < -limit) {
                return false;
            }
        }
        return plausible_index(LLVMGetOperand(value, 0), depth + 1) &&
               plausible_index(b, depth + 1);
    }
    return true;
}

struct igv_fact igv_sign_extended(LLVMValueRef value, const struct igv_fact *fact) {
    LLVMTypeRef type = LLVMTypeOf(value);
    unsigned width = igv_integer_width(type);
    if (width == 64 || fact->shape == IGV_V_UNIFORM) {
        return *fact;
    }
    if (fact->shape != IGV_V_LINEAR) {
        return igv_varying();
    }
    bool proven = fact->no_signed_wrap ||
                  (fact->no_wrap && igv_known_maximum(value) <= igv_type_maximum(type) / 2);
    bool plausible = width == 32 && fact->stride < PLAUSIBLE_STRIDE &&
                     fact->stride > -PLAUSIBLE_STRIDE && plausible_index(value, 0);
    if (!proven && !plausible) {
        return igv_varying();
    }
    struct igv_fact result = igv_linear(64, fact->stride, fact->align, false);
    result.no_signed_wrap = true;
    return result;
}

static struct igv_fact truncated(LLVMValueRef source, const struct igv_fact *fact, unsigned width) {
    uint64_t limit = width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    bool exact = fact->no_wrap && igv_known_maximum(source) <= limit;
    struct igv_fact result = igv_linear(width, fact->stride, fact->align, exact);
    result.no_signed_wrap |= exact && igv_known_maximum(source) <= limit / 2;
    return result;
}

struct igv_fact igv_cast_fact(LLVMValueRef instruction, const struct igv_fact *source) {
    LLVMValueRef operand = LLVMGetOperand(instruction, 0);
    unsigned from = igv_integer_width(LLVMTypeOf(operand));
    unsigned to = igv_integer_width(LLVMTypeOf(instruction));
    if (source->shape == IGV_V_UNIFORM) {
        return igv_uniform(from && to ? source->align : 0);
    }
    if (!from || !to || from > 64 || to > 64 || source->shape == IGV_V_VARYING) {
        return igv_varying();
    }
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMAddrSpaceCast:
    case LLVMBitCast:
        if (from == to) {
            return source->shape == IGV_V_LINEAR ? *source : igv_varying();
        }
        if (from < to) {
            return igv_varying();
        }
        /* fall through */
    case LLVMTrunc:
        return source->shape == IGV_V_LINEAR ? truncated(operand, source, to) : igv_varying();
    case LLVMSExt: {
        struct igv_fact result = igv_sign_extended(operand, source);
        return result.shape == IGV_V_LINEAR ? igv_linear(to, result.stride, result.align, false)
                                            : result;
    }
    case LLVMZExt:
        if (source->shape != IGV_V_LINEAR) {
            return igv_varying();
        }
        if (source->no_wrap) {
            struct igv_fact result = igv_linear(to, source->stride, source->align, true);
            result.no_signed_wrap = true;
            return result;
        }
        if (from != 32 || to != 64) {
            return igv_varying();
        }
        return (struct igv_fact){
            .shape = IGV_V_CHECKED, .stride = source->stride, .align = source->align};
    default:
        return igv_varying();
    }
}

/* ---- comparisons ------------------------------------------------------------------------------
 */
LLVMIntPredicate igv_mirrored(LLVMIntPredicate predicate) {
    switch (predicate) {
    case LLVMIntULT:
        return LLVMIntUGT;
    case LLVMIntUGT:
        return LLVMIntULT;
    case LLVMIntULE:
        return LLVMIntUGE;
    case LLVMIntUGE:
        return LLVMIntULE;
    case LLVMIntSLT:
        return LLVMIntSGT;
    case LLVMIntSGT:
        return LLVMIntSLT;
    case LLVMIntSLE:
        return LLVMIntSGE;
    case LLVMIntSGE:
        return LLVMIntSLE;
    default:
        return predicate;
    }
}

/* tid < 32 where lanes start at a multiple of 32: the same for all lanes. */
struct igv_fact igv_compare_fact(LLVMValueRef instruction, const struct igv_fact *left,
                                 const struct igv_fact *right) {
    if (left->shape == IGV_V_UNIFORM && right->shape == IGV_V_UNIFORM) {
        return igv_uniform(0);
    }
    LLVMValueRef limit = LLVMGetOperand(instruction, 1);
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(instruction);
    if (left->shape == IGV_V_UNIFORM) {
        const struct igv_fact *swapped = left;
        left = right;
        right = swapped;
        limit = LLVMGetOperand(instruction, 0);
        predicate = igv_mirrored(predicate);
    }
    struct igv_span span = igv_span_of(left);
    unsigned width = igv_integer_width(LLVMTypeOf(limit));
    if (!span.known || right->shape != IGV_V_UNIFORM || !width || span.width >= width) {
        return igv_varying();
    }
    uint64_t constant;
    bool known = is_constant(limit, &constant);
    uint64_t low = (UINT64_C(1) << span.width) - 1;
    switch (predicate) {
    case LLVMIntULT:
    case LLVMIntUGE:
    case LLVMIntSLT:
    case LLVMIntSGE: /* the limit is a multiple of the span's size */
        return right->align >= span.width ? igv_uniform(0) : igv_varying();
    case LLVMIntULE:
    case LLVMIntUGT:
    case LLVMIntSLE:
    case LLVMIntSGT: /* or one below such a multiple */
        return known && (constant & low) == low ? igv_uniform(0) : igv_varying();
    default:
        return igv_varying();
    }
}
