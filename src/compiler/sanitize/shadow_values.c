/*
 * Shadows of arithmetic: a result is as bad as the worst of its operands, element by element. A
 * logical `and` or `or` that its good operand decides is good.
 *
 * Not bit by bit: a number of which one byte was never written is bad as a whole. Structs and
 * arrays as values are bad as a whole too.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/sanitize/shadow.h"

static bool is_vector(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

LLVMTypeRef igs_shadow_type(const struct igs_shadows *shadows, LLVMTypeRef type) {
    LLVMTypeRef word = shadows->kernel->i32;
    return is_vector(type) ? LLVMVectorType(word, LLVMGetVectorSize(type)) : word;
}

LLVMValueRef igs_shadow_of(struct igs_shadows *shadows, LLVMValueRef value) {
    const struct igs_shadow_value *entry = igs_entry_of(shadows, value);
    return entry && entry->shadow ? entry->shadow
                                  : LLVMConstNull(igs_shadow_type(shadows, LLVMTypeOf(value)));
}

void igs_set_shadow(struct igs_shadows *shadows, LLVMValueRef value, LLVMValueRef shadow) {
    struct igs_shadow_value *entry = igs_entry_of(shadows, value);
    if (entry) {
        entry->shadow = shadow;
    }
}

LLVMValueRef igs_larger(struct igs_shadows *shadows, LLVMValueRef a, LLVMValueRef b) {
    struct igc_kernel *kernel = shadows->kernel;
    if (LLVMIsNull(a) || a == b) {
        return b;
    }
    if (LLVMIsNull(b)) {
        return a;
    }
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef function = igi_declare_intrinsic(kernel->module, IGI_LLVM_umax, &type, 1);
    LLVMValueRef args[] = {a, b};
    return LLVMBuildCall2(kernel->builder, LLVMGlobalGetValueType(function), function, args, 2, "");
}

static LLVMValueRef element(struct igs_shadows *shadows, LLVMValueRef vector, unsigned i) {
    return LLVMBuildExtractElement(shadows->kernel->builder, vector,
                                   igc_integer(shadows->kernel->i32, i), "");
}

LLVMValueRef igs_any_element(struct igs_shadows *shadows, LLVMValueRef shadow) {
    LLVMTypeRef type = LLVMTypeOf(shadow);
    if (!is_vector(type)) {
        return shadow;
    }
    if (LLVMIsNull(shadow)) {
        return igc_integer(shadows->kernel->i32, 0);
    }
    LLVMValueRef any = element(shadows, shadow, 0);
    for (unsigned i = 1; i < LLVMGetVectorSize(type); i++) {
        any = igs_larger(shadows, any, element(shadows, shadow, i));
    }
    return any;
}

LLVMValueRef igs_spread(struct igs_shadows *shadows, LLVMValueRef shadow, LLVMTypeRef type) {
    LLVMBuilderRef b = shadows->kernel->builder;
    if (!is_vector(type)) {
        return shadow;
    }
    LLVMValueRef result = LLVMConstNull(igs_shadow_type(shadows, type));
    for (unsigned i = 0; !LLVMIsNull(shadow) && i < LLVMGetVectorSize(type); i++) {
        LLVMValueRef at = igc_integer(shadows->kernel->i32, i);
        result = LLVMBuildInsertElement(b, result, shadow, at, "");
    }
    return result;
}

LLVMValueRef igs_is_bad(struct igs_shadows *shadows, LLVMValueRef shadow) {
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(shadow));
    return LLVMBuildICmp(shadows->kernel->builder, LLVMIntNE, shadow, zero, "");
}

LLVMValueRef igs_source(const struct igs_shadows *shadows, uint32_t number, unsigned may) {
    uint32_t mark = may & IGS_MAY_UNWRITTEN ? INGOT_CPU_NEVER_WRITTEN : 0;
    return igc_integer(shadows->kernel->i32, (number + 1) | mark);
}

/* Of the same form as the value: an operand may be a vector where the result is none. */
static LLVMValueRef as_form_of(struct igs_shadows *shadows, LLVMValueRef shadow, LLVMTypeRef type) {
    LLVMTypeRef wanted = igs_shadow_type(shadows, type);
    return LLVMTypeOf(shadow) == wanted
               ? shadow
               : igs_spread(shadows, igs_any_element(shadows, shadow), type);
}

static LLVMValueRef worst_operand(struct igs_shadows *shadows, LLVMValueRef in, unsigned count) {
    LLVMTypeRef type = LLVMTypeOf(in);
    LLVMValueRef worst = LLVMConstNull(igs_shadow_type(shadows, type));
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(in, i);
        if (igs_may_be(shadows, operand)) {
            LLVMValueRef shadow = igs_shadow_of(shadows, operand);
            worst = igs_larger(shadows, worst, as_form_of(shadows, shadow, type));
        }
    }
    return worst;
}

static bool is_bits(LLVMTypeRef type) {
    LLVMTypeRef scalar = is_vector(type) ? LLVMGetElementType(type) : type;
    return LLVMGetTypeKind(scalar) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(scalar) == 1;
}

/* A store to a bit-field keeps the bits beside it: clang's bf.set = or (bf.clear, value). */
static bool sets_bit_field(LLVMValueRef in) {
    size_t length;
    return LLVMGetInstructionOpcode(in) == LLVMOr &&
           !strncmp(LLVMGetValueName2(in, &length), "bf.set", 6);
}

/* Where one operand is good and decides (false of `and`, true of `or`), the other does not matter.
 */
static LLVMValueRef logical(struct igs_shadows *shadows, LLVMValueRef in, bool is_and) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMValueRef value[2], shadow[2], counts[2];
    for (unsigned i = 0; i < 2; i++) {
        value[i] = LLVMGetOperand(in, i);
        shadow[i] = igs_shadow_of(shadows, value[i]);
    }
    for (unsigned i = 0; i < 2; i++) { /* does operand i matter, by the other one? */
        LLVMValueRef other = value[1 - i];
        LLVMValueRef open = is_and ? other : LLVMBuildNot(b, other, "");
        open = LLVMBuildOr(b, open, igs_is_bad(shadows, shadow[1 - i]), "");
        counts[i] = LLVMBuildSelect(b, open, shadow[i], LLVMConstNull(LLVMTypeOf(shadow[i])), "");
    }
    return igs_larger(shadows, counts[0], counts[1]);
}

static LLVMValueRef selected(struct igs_shadows *shadows, LLVMValueRef in) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMValueRef condition = LLVMGetOperand(in, 0);
    LLVMValueRef one = igs_shadow_of(shadows, LLVMGetOperand(in, 1));
    LLVMValueRef other = igs_shadow_of(shadows, LLVMGetOperand(in, 2));
    LLVMValueRef result = one == other ? one : LLVMBuildSelect(b, condition, one, other, "");
    LLVMValueRef decided = igs_shadow_of(shadows, condition);
    return igs_larger(shadows, result, as_form_of(shadows, decided, LLVMTypeOf(in)));
}

static LLVMValueRef rearranged(struct igs_shadows *shadows, LLVMValueRef in) {
    LLVMBuilderRef b = shadows->kernel->builder;
    LLVMTypeRef type = LLVMTypeOf(in);
    LLVMValueRef one = igs_shadow_of(shadows, LLVMGetOperand(in, 0));
    LLVMValueRef other = igs_shadow_of(shadows, LLVMGetOperand(in, 1));
    unsigned size = LLVMGetVectorSize(LLVMTypeOf(one));
    LLVMValueRef result = LLVMConstNull(igs_shadow_type(shadows, type));
    for (unsigned i = 0; i < LLVMGetNumMaskElements(in); i++) {
        int from = LLVMGetMaskValue(in, i);
        if (from == LLVMGetUndefMaskElem()) {
            continue;
        }
        LLVMValueRef source = (unsigned)from < size ? one : other;
        if (!LLVMIsNull(source)) {
            LLVMValueRef part = element(shadows, source, (unsigned)from % size);
            result =
                LLVMBuildInsertElement(b, result, part, igc_integer(shadows->kernel->i32, i), "");
        }
    }
    return result;
}

/* A vector's elements are as bad as the index that takes or puts one. */
static LLVMValueRef taken(struct igs_shadows *shadows, LLVMValueRef in) {
    LLVMValueRef index = LLVMGetOperand(in, 1);
    LLVMValueRef from = igs_shadow_of(shadows, LLVMGetOperand(in, 0));
    LLVMValueRef result = LLVMBuildExtractElement(shadows->kernel->builder, from, index, "");
    return igs_larger(shadows, result, igs_shadow_of(shadows, index));
}

static LLVMValueRef put(struct igs_shadows *shadows, LLVMValueRef in) {
    LLVMValueRef index = LLVMGetOperand(in, 2);
    LLVMValueRef into = igs_shadow_of(shadows, LLVMGetOperand(in, 0));
    LLVMValueRef value = igs_shadow_of(shadows, LLVMGetOperand(in, 1));
    LLVMValueRef result = LLVMBuildInsertElement(shadows->kernel->builder, into, value, index, "");
    return igs_larger(shadows, result,
                      as_form_of(shadows, igs_shadow_of(shadows, index), LLVMTypeOf(in)));
}

void igs_shadow_arithmetic(struct igs_shadows *shadows, LLVMValueRef in) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
    unsigned count = (unsigned)LLVMGetNumOperands(in);
    LLVMValueRef shadow;
    switch (opcode) {
    case LLVMSelect:
        shadow = selected(shadows, in);
        break;
    case LLVMShuffleVector:
        shadow = rearranged(shadows, in);
        break;
    case LLVMExtractElement:
        shadow = taken(shadows, in);
        break;
    case LLVMInsertElement:
        shadow = put(shadows, in);
        break;
    case LLVMAnd:
    case LLVMOr:
        shadow = is_bits(LLVMTypeOf(in)) ? logical(shadows, in, opcode == LLVMAnd)
                 : sets_bit_field(in)    ? igs_shadow_of(shadows, LLVMGetOperand(in, 1))
                                         : worst_operand(shadows, in, count);
        break;
    default:
        shadow = worst_operand(shadows, in, LLVMIsACallInst(in) ? count - 1 : count);
        break;
    }
    igs_set_shadow(shadows, in, shadow);
}
