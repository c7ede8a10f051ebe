/*
 * Arithmetic on types that the CPU computes in another type: half and bfloat in float, rounded
 * after every operation; integer division in floating point. All functions take scalars and
 * vectors alike.
 */
#include "compiler/cpu/vectorise/state.h"

static LLVMTypeRef like(LLVMValueRef value, LLVMTypeRef scalar) {
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) {
        return LLVMVectorType(scalar, LLVMGetVectorSize(type));
    }
    return scalar;
}

static LLVMValueRef constant_like(LLVMValueRef value, LLVMTypeRef scalar, uint64_t number) {
    LLVMValueRef element = LLVMConstInt(scalar, number, 0);
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
        return element;
    }
    LLVMValueRef elements[32];
    unsigned count = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < count && i < 32; i++) {
        elements[i] = element;
    }
    return LLVMConstVector(elements, count);
}

bool igv_is_small_float(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
}

LLVMValueRef igv_bfloat_to_float(struct igv_emit *emit, LLVMValueRef bits) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef wide = LLVMBuildZExt(b, bits, like(bits, emit->i32), "");
    wide = LLVMBuildShl(b, wide, constant_like(bits, emit->i32, 16), "");
    return LLVMBuildBitCast(b, wide, like(bits, emit->f32), "");
}

/* Round to nearest even; a NaN stays a NaN and becomes quiet. */
LLVMValueRef igv_float_to_bfloat(struct igv_emit *emit, LLVMValueRef value) {
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef bits = LLVMBuildBitCast(b, value, like(value, emit->i32), "");
    LLVMValueRef sixteen = constant_like(value, emit->i32, 16);
    LLVMValueRef high = LLVMBuildLShr(b, bits, sixteen, "");
    LLVMValueRef odd = LLVMBuildAnd(b, high, constant_like(value, emit->i32, 1), "");
    LLVMValueRef sum = LLVMBuildAdd(b, bits, constant_like(value, emit->i32, 0x7fff), "");
    sum = LLVMBuildAdd(b, sum, odd, "");
    LLVMValueRef rounded = LLVMBuildLShr(b, sum, sixteen, "");
    LLVMValueRef quiet = LLVMBuildOr(b, high, constant_like(value, emit->i32, 0x40), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
    LLVMValueRef result = LLVMBuildSelect(b, is_nan, quiet, rounded, "");
    return LLVMBuildTrunc(b, result, like(value, emit->i16), "");
}

LLVMValueRef igv_widen_float(struct igv_emit *emit, LLVMValueRef value, LLVMTypeRef source) {
    switch (LLVMGetTypeKind(source)) {
    case LLVMBFloatTypeKind:
        return igv_bfloat_to_float(emit, value);
    case LLVMHalfTypeKind:
        return LLVMBuildFPExt(emit->builder, value, like(value, emit->f32), "");
    default:
        return value;
    }
}

LLVMValueRef igv_narrow_float(struct igv_emit *emit, LLVMValueRef value, LLVMTypeRef target) {
    switch (LLVMGetTypeKind(target)) {
    case LLVMBFloatTypeKind:
        return igv_float_to_bfloat(emit, value);
    case LLVMHalfTypeKind:
        return LLVMBuildFPTrunc(emit->builder, value, like(value, emit->f16), "");
    default:
        return value;
    }
}

/* ---- division ------------------------------------------------------------------------------- */

static LLVMValueRef from_double(struct igv_emit *emit, LLVMValueRef quotient, LLVMTypeRef integer,
                                bool is_signed) {
    LLVMBuilderRef b = emit->builder;
    if (is_signed) {
        return LLVMBuildFPToSI(b, quotient, integer, "");
    }
    if (emit->request->target->bit_masks) {
        return LLVMBuildFPToUI(b, quotient, integer, "");
    }
    /* AVX2 has no such conversion: the low 32 bits of 2^52 + floor(q) are floor(q). */
    LLVMTypeRef type = LLVMTypeOf(quotient);
    quotient = igv_intrinsic(emit, "llvm.floor", &type, 1, &quotient, 1);
    LLVMValueRef magic = igv_splat(emit, LLVMConstReal(emit->f64, 4503599627370496.0));
    quotient = LLVMBuildFAdd(b, quotient, magic, "");
    LLVMValueRef bits = LLVMBuildBitCast(b, quotient, like(quotient, emit->i64), "");
    return LLVMBuildTrunc(b, bits, integer, "");
}

/* Exact: for |a|, |b| < 2^n the quotient's spacing in a format of 53 > n + 1 (or 24 > n + 1)
 * bits is below 1 / b, so rounding never crosses an integer. */
static LLVMValueRef divide_by_float(struct igv_emit *emit, LLVMValueRef left, LLVMValueRef right,
                                    unsigned width, bool is_signed, bool remainder) {
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef original = LLVMTypeOf(left);
    LLVMTypeRef integer = like(left, emit->i32);
    if (width < 32) {
        left =
            is_signed ? LLVMBuildSExt(b, left, integer, "") : LLVMBuildZExt(b, left, integer, "");
        right =
            is_signed ? LLVMBuildSExt(b, right, integer, "") : LLVMBuildZExt(b, right, integer, "");
    }
    LLVMTypeRef number = like(left, width < 32 ? emit->f32 : emit->f64);
    bool as_signed = is_signed || width < 32;
    LLVMValueRef x =
        as_signed ? LLVMBuildSIToFP(b, left, number, "") : LLVMBuildUIToFP(b, left, number, "");
    LLVMValueRef y =
        as_signed ? LLVMBuildSIToFP(b, right, number, "") : LLVMBuildUIToFP(b, right, number, "");
    LLVMValueRef quotient = LLVMBuildFDiv(b, x, y, "");
    LLVMValueRef result = from_double(emit, quotient, integer, as_signed);
    if (remainder) {
        result = LLVMBuildSub(b, left, LLVMBuildMul(b, result, right, ""), "");
    }
    return width < 32 ? LLVMBuildTrunc(b, result, original, "") : result;
}

/* By the CPU's own instruction, which must not trap where a GPU would not: a divisor of 0 counts
 * as 1 (the result is undefined in Metal), and -1 negates. */
static LLVMValueRef divide_by_integer(struct igv_emit *emit, LLVMOpcode opcode, LLVMValueRef left,
                                      LLVMValueRef right, bool is_signed) {
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef type = LLVMTypeOf(right);
    LLVMTypeRef scalar =
        LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    LLVMValueRef negates = NULL;
    LLVMValueRef traps = LLVMBuildICmp(b, LLVMIntEQ, right, LLVMConstNull(type), "");
    if (is_signed) {
        negates = LLVMBuildICmp(b, LLVMIntEQ, right, LLVMConstAllOnes(type), "");
        traps = LLVMBuildOr(b, traps, negates, "");
    }
    LLVMValueRef divisor =
        LLVMBuildSelect(b, traps, constant_like(right, scalar, 1), right, "divisor");
    LLVMValueRef result = LLVMBuildBinOp(b, opcode, left, divisor, "");
    if (opcode == LLVMSDiv) {
        result = LLVMBuildSelect(b, negates, LLVMBuildNeg(b, left, ""), result, "");
    }
    return result;
}

LLVMValueRef igv_divide(struct igv_emit *emit, LLVMOpcode opcode, LLVMValueRef left,
                        LLVMValueRef right) {
    LLVMTypeRef type = LLVMTypeOf(left);
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    unsigned width = LLVMGetIntTypeWidth(vector ? LLVMGetElementType(type) : type);
    if (LLVMIsConstant(right)) {
        return LLVMBuildBinOp(emit->builder, opcode, left, right, "");
    }
    bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem;
    if (!vector || width > 32) {
        return divide_by_integer(emit, opcode, left, right, is_signed);
    }
    bool remainder = opcode == LLVMURem || opcode == LLVMSRem;
    return divide_by_float(emit, left, right, width, is_signed, remainder);
}
