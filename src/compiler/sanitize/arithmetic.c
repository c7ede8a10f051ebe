/*
 * arithmetic: shifts by the width or more, integer divisions by zero, the smallest integer divided
 * by -1, and conversions of floats that an integer cannot hold.
 *
 * Requires everything inlined and nothing simplified; the shared passes may have made shifts
 * count modulo the width and divisors be other than zero, which is looked through. Looks at the
 * user's own code only, operators of vectors included: the prelude's maths makes use of all of
 * these, on purpose. Vectors are checked element by element.
 */
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static unsigned count_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

/* Element i of a vector; a scalar itself. */
static LLVMValueRef element(struct igc_kernel *kernel, LLVMValueRef value, unsigned i) {
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind
               ? LLVMBuildExtractElement(kernel->builder, value, igc_integer(kernel->i32, i), "")
               : value;
}

/* The program's second operand, where it was a constant and is another now; or NULL. */
static LLVMValueRef own_operand(struct igc_kernel *kernel, LLVMValueRef instruction) {
    unsigned kind =
        LLVMGetMDKindIDInContext(kernel->context, IGC_OWN_OPERAND, sizeof IGC_OWN_OPERAND - 1);
    LLVMValueRef node = LLVMGetMetadata(instruction, kind), operand = NULL;
    if (node && LLVMGetMDNodeNumOperands(node) == 1) {
        LLVMGetMDNodeOperands(node, &operand);
    }
    return operand && LLVMTypeOf(operand) == LLVMTypeOf(LLVMGetOperand(instruction, 1)) ? operand
                                                                                        : NULL;
}

/* The program's amount, where it was made modulo the width. */
static LLVMValueRef plain_amount(struct igc_kernel *kernel, LLVMValueRef shift) {
    LLVMValueRef amount = LLVMGetOperand(shift, 1), own = own_operand(kernel, shift);
    if (own) {
        return own;
    }
    LLVMTypeRef type = LLVMTypeOf(amount);
    uint64_t mask = LLVMGetIntTypeWidth(scalar_of(type)) - 1;
    if (!LLVMIsAInstruction(amount) || LLVMGetInstructionOpcode(amount) != LLVMAnd) {
        return amount;
    }
    LLVMValueRef right = LLVMGetOperand(amount, 1);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) {
        right = LLVMIsConstant(right) ? LLVMGetAggregateElement(right, 0) : NULL;
    }
    return right && LLVMIsAConstantInt(right) && LLVMConstIntGetZExtValue(right) == mask
               ? LLVMGetOperand(amount, 0)
               : amount;
}

/* The program's divisor, where zero was replaced. */
static LLVMValueRef plain_divisor(struct igc_kernel *kernel, LLVMValueRef division) {
    static const char name[] = "ingot.guard";
    LLVMValueRef divisor = LLVMGetOperand(division, 1), own = own_operand(kernel, division);
    if (own) {
        return own;
    }
    unsigned kind = LLVMGetMDKindIDInContext(kernel->context, name, sizeof name - 1);
    return LLVMIsASelectInst(divisor) && LLVMGetMetadata(divisor, kind) ? LLVMGetOperand(divisor, 2)
                                                                        : divisor;
}

static bool begin(struct igc_kernel *kernel, LLVMValueRef instruction, const char *message,
                  uint32_t *number) {
    struct igs_place *place = igs_place_of(kernel, IG_SANITIZE_arithmetic, instruction, number);
    if (!place) {
        return false;
    }
    LLVMTypeRef type = LLVMTypeOf(instruction);
    place->place.message = message;
    place->place.detail = LLVMGetIntTypeWidth(scalar_of(type));
    return true;
}

static LLVMValueRef as_number(struct igc_kernel *kernel, LLVMValueRef value) {
    return LLVMBuildIntCast2(kernel->builder, value, kernel->i64, true, "");
}

static void check_shift(struct igc_kernel *kernel, LLVMValueRef shift) {
    LLVMValueRef amounts = plain_amount(kernel, shift);
    unsigned width = LLVMGetIntTypeWidth(scalar_of(LLVMTypeOf(shift)));
    uint32_t number;
    if ((LLVMIsAConstantInt(amounts) && LLVMConstIntGetZExtValue(amounts) < width) ||
        !begin(kernel, shift, "a shift by the width of its type or more", &number)) {
        return;
    }
    for (unsigned i = 0; i < count_of(LLVMTypeOf(amounts)); i++) {
        LLVMValueRef amount = element(kernel, amounts, i);
        LLVMValueRef limit = igc_integer(LLVMTypeOf(amount), width);
        LLVMValueRef ok = LLVMBuildICmp(kernel->builder, LLVMIntULT, amount, limit, "");
        igs_expect(kernel, ok, number, as_number(kernel, amount));
    }
}

/* Known to be another number, in every element? */
static bool is_never(LLVMValueRef values, uint64_t number) {
    if (!LLVMIsConstant(values)) {
        return false;
    }
    for (unsigned i = 0; i < count_of(LLVMTypeOf(values)); i++) {
        bool is_vector = LLVMGetTypeKind(LLVMTypeOf(values)) == LLVMVectorTypeKind;
        LLVMValueRef one = is_vector ? LLVMGetAggregateElement(values, i) : values;
        if (!one || !LLVMIsAConstantInt(one) || LLVMConstIntGetZExtValue(one) == number) {
            return false;
        }
    }
    return true;
}

static void check_overflow(struct igc_kernel *kernel, LLVMValueRef division,
                           LLVMValueRef divisors) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef dividends = LLVMGetOperand(division, 0);
    LLVMTypeRef type = scalar_of(LLVMTypeOf(divisors));
    if (LLVMGetIntTypeWidth(type) > 64) {
        return;
    }
    uint64_t smallest = (uint64_t)1 << (LLVMGetIntTypeWidth(type) - 1);
    uint64_t minus_one = LLVMConstIntGetZExtValue(LLVMConstAllOnes(type));
    uint32_t number;
    if (is_never(dividends, smallest) || is_never(divisors, minus_one) ||
        !begin(kernel, division, "the smallest integer divided by -1", &number)) {
        return;
    }
    for (unsigned i = 0; i < count_of(LLVMTypeOf(divisors)); i++) {
        LLVMValueRef from = element(kernel, dividends, i), by = element(kernel, divisors, i);
        LLVMValueRef least = LLVMBuildICmp(b, LLVMIntNE, from, igc_integer(type, smallest), "");
        LLVMValueRef other = LLVMBuildICmp(b, LLVMIntNE, by, LLVMConstAllOnes(type), "");
        igs_expect(kernel, LLVMBuildOr(b, least, other, ""), number, as_number(kernel, from));
    }
}

static void check_division(struct igc_kernel *kernel, LLVMValueRef division, bool is_signed) {
    LLVMValueRef divisors = plain_divisor(kernel, division);
    uint32_t number;
    if (LLVMIsAConstantInt(divisors) && !LLVMIsNull(divisors)) {
        if (is_signed) {
            check_overflow(kernel, division, divisors);
        }
        return;
    }
    if (!begin(kernel, division, "an integer division by zero", &number)) {
        return;
    }
    for (unsigned i = 0; i < count_of(LLVMTypeOf(divisors)); i++) {
        LLVMValueRef by = element(kernel, divisors, i);
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(by));
        LLVMValueRef ok = LLVMBuildICmp(kernel->builder, LLVMIntNE, by, zero, "");
        igs_expect(kernel, ok, number, as_number(kernel, by));
    }
    if (is_signed) {
        check_overflow(kernel, division, divisors);
    }
}

/* Whole numbers from `low` up to, but not including, 2 to the power of `bits`; what is cut off does
 * not count, so -0.5 is a good unsigned number. NaN fails both tests. */
static void check_conversion(struct igc_kernel *kernel, LLVMValueRef conversion, bool is_signed) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef values = LLVMGetOperand(conversion, 0);
    unsigned width = LLVMGetIntTypeWidth(scalar_of(LLVMTypeOf(conversion)));
    LLVMTypeRef real = LLVMDoubleTypeInContext(kernel->context);
    uint32_t number;
    if (LLVMIsConstant(values) || width > 64 ||
        !begin(kernel, conversion, "a conversion of a float that the integer cannot hold",
               &number)) {
        return;
    }
    double high = 1;
    for (unsigned i = 0; i < width - is_signed; i++) {
        high *= 2;
    }
    for (unsigned i = 0; i < count_of(LLVMTypeOf(values)); i++) {
        LLVMValueRef value = LLVMBuildFPCast(b, element(kernel, values, i), real, "");
        LLVMValueRef above = LLVMBuildFCmp(b, LLVMRealOGT, value,
                                           LLVMConstReal(real, is_signed ? -high - 1 : -1), "");
        if (is_signed && width == 64) { /* -2^63 - 1 is no double */
            above = LLVMBuildFCmp(b, LLVMRealOGE, value, LLVMConstReal(real, -high), "");
        }
        LLVMValueRef below = LLVMBuildFCmp(b, LLVMRealOLT, value, LLVMConstReal(real, high), "");
        igs_expect(kernel, LLVMBuildAnd(b, above, below, ""), number,
                   LLVMBuildBitCast(b, value, kernel->i64, ""));
    }
}

static bool is_checked(struct igc_kernel *kernel, LLVMValueRef instruction) {
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMURem:
    case LLVMSDiv:
    case LLVMSRem:
    case LLVMFPToSI:
    case LLVMFPToUI:
        return igs_is_users_operation(kernel, instruction);
    default:
        return false;
    }
}

enum igc_result igs_check_arithmetic(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_checked);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        LLVMValueRef in = list.items[i];
        LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
        LLVMPositionBuilderBefore(kernel->builder, in);
        if (opcode == LLVMShl || opcode == LLVMLShr || opcode == LLVMAShr) {
            check_shift(kernel, in);
        } else if (opcode == LLVMFPToSI || opcode == LLVMFPToUI) {
            check_conversion(kernel, in, opcode == LLVMFPToSI);
        } else {
            check_division(kernel, in, opcode == LLVMSDiv || opcode == LLVMSRem);
        }
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
