/*
 * One instruction of the scalar kernel → its copy for 32 lanes.
 *
 * Requires the operands to be defined. Memory is in memory.c, control flow in control.c, the
 * built-ins in compiler/lower/.
 */
#include "compiler/analysis/shapes.h"
#include "compiler/cpu/vectorise/state.h"
#include "compiler/ir/builtins.h"

static void copy_flags(LLVMValueRef from, LLVMValueRef to) {
    if (LLVMIsAInstruction(to) && LLVMCanValueUseFastMathFlags(from) &&
        LLVMCanValueUseFastMathFlags(to)) {
        LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
    }
}

static LLVMTypeRef result_type(struct igv_emit *emit, LLVMTypeRef type, bool vector) {
    type = igv_mapped_type(emit, type);
    return vector ? igv_vector_type(emit, type) : type;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static LLVMValueRef rebuild_binary(struct igv_emit *emit, LLVMValueRef instruction,
                                   LLVMValueRef left, LLVMValueRef right) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    LLVMTypeRef type = LLVMTypeOf(instruction);
    if (igv_is_small_float(type)) {
        left = igv_widen_float(emit, left, type);
        right = igv_widen_float(emit, right, type);
    }
    LLVMValueRef result;
    switch (opcode) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        result = igv_divide(emit, opcode, left, right);
        break;
    default:
        result = LLVMBuildBinOp(emit->builder, opcode, left, right, "");
        copy_flags(instruction, result);
    }
    return igv_narrow_float(emit, result, type);
}

static LLVMValueRef rebuild_cast(struct igv_emit *emit, LLVMValueRef instruction,
                                 LLVMValueRef operand, bool vector) {
    LLVMBuilderRef b = emit->builder;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    LLVMTypeRef source = LLVMTypeOf(LLVMGetOperand(instruction, 0));
    LLVMTypeRef target = LLVMTypeOf(instruction);
    LLVMTypeRef type = result_type(emit, target, vector);
    if (LLVMTypeOf(operand) == type &&
        (opcode == LLVMBitCast || opcode == LLVMAddrSpaceCast || opcode == LLVMFreeze)) {
        return operand;
    }
    bool small = igv_is_small_float(source) || igv_is_small_float(target);
    if (!small || opcode == LLVMBitCast) {
        return LLVMBuildCast(b, opcode, operand, type, "");
    }
    /* through float */
    LLVMTypeRef number = vector ? igv_vector_type(emit, emit->f32) : emit->f32;
    if (igv_is_small_float(source)) {
        operand = igv_widen_float(emit, operand, source);
    } else if (opcode == LLVMFPTrunc) {
        operand = LLVMBuildFPCast(b, operand, number, "");
    }
    switch (opcode) {
    case LLVMFPExt:
        return LLVMGetTypeKind(target) == LLVMFloatTypeKind ? operand
                                                            : LLVMBuildFPExt(b, operand, type, "");
    case LLVMFPTrunc:
        return igv_narrow_float(emit, operand, target);
    case LLVMSIToFP:
        return igv_narrow_float(emit, LLVMBuildSIToFP(b, operand, number, ""), target);
    case LLVMUIToFP:
        return igv_narrow_float(emit, LLVMBuildUIToFP(b, operand, number, ""), target);
    default: /* to an integer */
        return LLVMBuildCast(b, opcode, operand, type, "");
    }
}

static LLVMValueRef rebuild_compare(struct igv_emit *emit, LLVMValueRef instruction,
                                    LLVMValueRef left, LLVMValueRef right) {
    if (LLVMGetInstructionOpcode(instruction) == LLVMICmp) {
        return LLVMBuildICmp(emit->builder, LLVMGetICmpPredicate(instruction), left, right, "");
    }
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(instruction, 0));
    left = igv_widen_float(emit, left, type);
    right = igv_widen_float(emit, right, type);
    return LLVMBuildFCmp(emit->builder, LLVMGetFCmpPredicate(instruction), left, right, "");
}

static LLVMValueRef rebuild_negate(struct igv_emit *emit, LLVMValueRef instruction,
                                   LLVMValueRef operand) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    LLVMValueRef result = LLVMBuildFNeg(emit->builder, igv_widen_float(emit, operand, type), "");
    copy_flags(instruction, result);
    return igv_narrow_float(emit, result, type);
}

LLVMValueRef igv_rebuild(struct igv_emit *emit, LLVMValueRef instruction, LLVMValueRef *operands,
                         bool vector) {
    if (LLVMIsABinaryOperator(instruction)) {
        return rebuild_binary(emit, instruction, operands[0], operands[1]);
    }
    if (LLVMIsACastInst(instruction)) {
        return rebuild_cast(emit, instruction, operands[0], vector);
    }
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMICmp:
    case LLVMFCmp:
        return rebuild_compare(emit, instruction, operands[0], operands[1]);
    case LLVMFNeg:
        return rebuild_negate(emit, instruction, operands[0]);
    case LLVMFreeze:
        return LLVMBuildFreeze(emit->builder, operands[0], "");
    case LLVMSelect:
        return LLVMBuildSelect(emit->builder, operands[0], operands[1], operands[2], "");
    default: {
        char *text = LLVMPrintValueToString(instruction);
        ig_fail(emit->error, INGOT_INTERNAL_ERROR, "the vectoriser has no rule for:%s", text);
        LLVMDisposeMessage(text);
        return LLVMGetUndef(result_type(emit, LLVMTypeOf(instruction), vector));
    }
    }
}

/* ---- generic emission by shape ----------------------------------------------------------------
 */

/* Lanes whose bits are disjoint differ as sums do. Lane 0 is what they count from; where it is not
 * active, its bits may overlap. */
static bool is_sum_of_lanes(struct igv_emit *emit, LLVMValueRef instruction) {
    return LLVMGetInstructionOpcode(instruction) == LLVMOr && LLVMGetIsDisjoint(instruction) &&
           (igv_exact_shape(emit, LLVMGetOperand(instruction, 0), NULL) != IGV_V_UNIFORM ||
            igv_exact_shape(emit, LLVMGetOperand(instruction, 1), NULL) != IGV_V_UNIFORM);
}

static void emit_scalar(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMValueRef operands[3] = {NULL, NULL, NULL};
    int count = LLVMGetNumOperands(instruction);
    for (int i = 0; i < count && i < 3; i++) {
        operands[i] = igv_scalar(emit, LLVMGetOperand(instruction, (unsigned)i));
    }
    LLVMValueRef result = is_sum_of_lanes(emit, instruction)
                              ? LLVMBuildAdd(emit->builder, operands[0], operands[1], "")
                              : igv_rebuild(emit, instruction, operands, false);
    igv_define_scalar(emit, instruction, result);
}

/* Inactive lanes may hold any divisor; 1 keeps them from trapping. */
static LLVMValueRef safe_divisor(struct igv_emit *emit, LLVMValueRef divisor, unsigned chunk) {
    if (LLVMIsConstant(divisor) || igv_mask_is_full(emit)) {
        return divisor;
    }
    LLVMValueRef one = igv_splat(emit, LLVMConstInt(LLVMGetElementType(LLVMTypeOf(divisor)), 1, 0));
    return LLVMBuildSelect(emit->builder, igv_mask(emit, chunk), divisor, one, "");
}

static bool is_division(LLVMOpcode opcode) {
    return opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMURem || opcode == LLVMSRem;
}

static void emit_vector(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    int count = LLVMGetNumOperands(instruction);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef operands[3] = {NULL, NULL, NULL};
        for (int i = 0; i < count && i < 3; i++) {
            LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
            bool scalar_condition = opcode == LLVMSelect && i == 0 &&
                                    igv_exact_shape(emit, operand, NULL) == IGV_V_UNIFORM;
            operands[i] =
                scalar_condition ? igv_scalar(emit, operand) : igv_vector(emit, operand, chunk);
        }
        if (is_division(opcode)) {
            operands[1] = safe_divisor(emit, operands[1], chunk);
        }
        igv_define_vector(emit, instruction, chunk, igv_rebuild(emit, instruction, operands, true));
    }
}

/* lane 0's scalar + 31 * stride leaves the 32-bit range */
static LLVMValueRef extension_wraps(struct igv_emit *emit, LLVMValueRef narrow, long stride) {
    LLVMTypeRef type = LLVMTypeOf(narrow);
    unsigned width = LLVMGetIntTypeWidth(type);
    uint64_t top = width == 64 ? ~0ull : (1ull << width) - 1;
    uint64_t reach = (uint64_t)(stride < 0 ? -stride : stride) * (INGOT_SIMD_WIDTH - 1);
    if (reach > top) {
        return LLVMConstInt(emit->i1, 1, 0);
    }
    if (stride < 0) {
        return LLVMBuildICmp(emit->builder, LLVMIntULT, narrow, LLVMConstInt(type, reach, 0), "");
    }
    return LLVMBuildICmp(emit->builder, LLVMIntUGT, narrow, LLVMConstInt(type, top - reach, 0),
                         "wraps");
}

static void emit_checked(struct igv_emit *emit, LLVMValueRef instruction) {
    LLVMValueRef operands[2] = {NULL, NULL}, wraps = NULL;
    int count = LLVMGetNumOperands(instruction);
    if (LLVMGetInstructionOpcode(instruction) == LLVMGetElementPtr) {
        for (int i = 0; i < count; i++) {
            LLVMValueRef flag = igv_wraps(emit, LLVMGetOperand(instruction, (unsigned)i));
            wraps = wraps ? LLVMBuildOr(emit->builder, wraps, flag, "") : flag;
        }
        igv_define_checked(emit, instruction, igv_emit_gep_scalar(emit, instruction), wraps);
        return;
    }
    for (int i = 0; i < count && i < 2; i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        operands[i] = igv_scalar(emit, operand);
        LLVMValueRef flag = igv_wraps(emit, operand);
        wraps = wraps ? LLVMBuildOr(emit->builder, wraps, flag, "") : flag;
    }
    long stride;
    if (LLVMGetInstructionOpcode(instruction) == LLVMZExt &&
        igv_exact_shape(emit, LLVMGetOperand(instruction, 0), &stride) == IGV_V_LINEAR) {
        wraps = extension_wraps(emit, operands[0], stride);
    }
    igv_define_checked(emit, instruction, igv_rebuild(emit, instruction, operands, false), wraps);
}

/* ---- comparisons of a lane index with a bound ---------------------------------------------------
 */

/* i < n for i = base + lane that cannot wrap: the lanes below n - base, as bits of a count. */
static bool emit_count_compare(struct igv_emit *emit, LLVMValueRef instruction) {
    if (!emit->request->target->bit_masks) {
        return false;
    }
    LLVMValueRef left = LLVMGetOperand(instruction, 0), right = LLVMGetOperand(instruction, 1);
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(instruction);
    struct igv_value *index = igv_lookup(emit, left);
    if (!index || index->shape != IGV_V_LINEAR) {
        LLVMValueRef swap = left;
        left = right, right = swap;
        predicate = igv_mirrored(predicate);
        index = igv_lookup(emit, left);
    }
    if (!index || index->shape != IGV_V_LINEAR || index->stride != 1 || !index->no_wrap ||
        igv_exact_shape(emit, right, NULL) != IGV_V_UNIFORM) {
        return false;
    }
    bool below = predicate == LLVMIntULT || predicate == LLVMIntULE;
    if (!below && predicate != LLVMIntUGT && predicate != LLVMIntUGE) {
        return false;
    }
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef type = LLVMTypeOf(left);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) < 32) {
        return false;
    }
    LLVMValueRef args[] = {igv_scalar(emit, right), igv_scalar(emit, left)};
    LLVMValueRef count = igv_intrinsic(emit, "llvm.usub.sat", &type, 1, args, 2);
    if (predicate == LLVMIntULE || predicate == LLVMIntUGT) { /* one more lane: i <= n */
        LLVMValueRef any = LLVMBuildICmp(b, LLVMIntUGE, args[0], args[1], "");
        LLVMValueRef limit[] = {count, LLVMConstInt(type, INGOT_SIMD_WIDTH, 0)};
        count = igv_intrinsic(emit, "llvm.umin", &type, 1, limit, 2);
        count = LLVMBuildAdd(b, count, LLVMConstInt(type, 1, 0), "");
        count = LLVMBuildSelect(b, any, count, LLVMConstNull(type), "");
    }
    LLVMValueRef limit[] = {count, LLVMConstInt(type, INGOT_SIMD_WIDTH, 0)};
    count = igv_intrinsic(emit, "llvm.umin", &type, 1, limit, 2);
    count = LLVMBuildIntCast2(b, count, emit->i64, 0, "");
    LLVMValueRef bits = LLVMBuildShl(b, LLVMConstAllOnes(emit->i64), count, "");
    if (below) {
        bits = LLVMBuildNot(b, bits, "");
    }
    LLVMTypeRef narrow = LLVMIntTypeInContext(emit->context, emit->lanes);
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        LLVMValueRef part = LLVMBuildLShr(b, bits, igv_u64(emit, chunk * emit->lanes), "");
        part = LLVMBuildTrunc(b, part, narrow, "");
        igv_define_vector(emit, instruction, chunk,
                          LLVMBuildBitCast(b, part, igv_mask_type(emit), ""));
    }
    return true;
}

/* ---- calls
 * ---------------------------------------------------------------------------------------- */

/* Which types an intrinsic is overloaded on, beyond its result. */
static unsigned overload_types(unsigned flags, LLVMTypeRef result, LLVMTypeRef operand,
                               LLVMTypeRef second, LLVMTypeRef types[2]) {
    types[0] = flags & IGI_I_BY_OPERAND_TYPE ? operand : result;
    types[1] = flags & IGI_I_BY_RESULT_AND_OPERAND ? operand : second;
    return flags & (IGI_I_BY_RESULT_AND_OPERAND | IGI_I_BY_RESULT_AND_SECOND) ? 2 : 1;
}

static LLVMValueRef rebuild_intrinsic(struct igv_emit *emit, LLVMValueRef call, bool vector,
                                      unsigned chunk) {
    const enum igi_intrinsic intrinsic = igi_intrinsic_of(call);
    const unsigned flags = igi_intrinsic_flags(intrinsic);
    LLVMTypeRef original = LLVMTypeOf(call);
    LLVMValueRef args[8] = {NULL};
    int count = (int)LLVMGetNumArgOperands(call);
    bool keeps_half = intrinsic == IGI_LLVM_is_fpclass;
    for (int i = 0; i < count && i < 8; i++) {
        LLVMValueRef operand = LLVMGetOperand(call, (unsigned)i);
        if (i == 1 && flags & IGI_I_SECOND_IMMEDIATE) {
            args[i] = intrinsic == IGI_LLVM_powi ? igv_scalar(emit, operand) : operand;
            continue;
        }
        args[i] = vector ? igv_vector(emit, operand, chunk) : igv_scalar(emit, operand);
        LLVMTypeRef type = LLVMTypeOf(operand);
        if (LLVMGetTypeKind(type) == LLVMBFloatTypeKind || !keeps_half) {
            args[i] = igv_widen_float(emit, args[i], type);
        }
    }
    LLVMTypeRef result = igv_is_small_float(original) ? emit->f32 : original;
    result = result_type(emit, result, vector);
    LLVMTypeRef types[2];
    unsigned type_count = overload_types(flags, result, LLVMTypeOf(args[0]),
                                         count > 1 ? LLVMTypeOf(args[1]) : NULL, types);
    unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(call));
    if (!LLVMIntrinsicIsOverloaded(id)) {
        type_count = 0;
    }
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(emit->module, id, types, type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(emit->context, id, types, type_count);
    LLVMValueRef value = LLVMBuildCall2(emit->builder, type, function, args, (unsigned)count, "");
    copy_flags(call, value);
    return igv_narrow_float(emit, value, original);
}

static void emit_intrinsic(struct igv_emit *emit, LLVMValueRef call) {
    const unsigned flags = igi_intrinsic_flags_of(call);
    if (flags & IGI_I_INFORMS) {
        return;
    }
    if (flags & IGI_I_TRAPS) {
        LLVMValueRef reason = LLVMBuildGlobalStringPtr(emit->builder, INGOT_CPU_TRAPPED, "");
        igv_call_service(emit, offsetof(struct ingot_cpu_services, trap),
                         LLVMVoidTypeInContext(emit->context), &reason, 1);
        return;
    }
    if (igv_exact_shape(emit, call, NULL) != IGV_V_VARYING) {
        igv_define_scalar(emit, call, rebuild_intrinsic(emit, call, false, 0));
        return;
    }
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        igv_define_vector(emit, call, chunk, rebuild_intrinsic(emit, call, true, chunk));
    }
}

static void emit_call(struct igv_emit *emit, LLVMValueRef call) {
    if (igi_is_intrinsic(call)) {
        emit_intrinsic(emit, call);
        return;
    }
    const enum igi_builtin builtin = igi_builtin_of(call);
    const struct igv_lowering *lowering = igv_lowerings(emit->request)->of(builtin);
    if (!lowering) {
        ig_fail(emit->error, INGOT_COMPILE_ERROR, "call of \"%s\", which is not defined",
                igi_callee_text(call));
        return;
    }
    if (igv_is_emitted(emit, call)) {
        return;
    }
    if (igi_facts(builtin)->flags & IGI_BARRIER) {
        emit->state->has_barriers = true;
    }
    lowering->lower(emit, call);
}

static bool is_atomic(LLVMValueRef instruction) {
    return LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic;
}

static void emit_gep(struct igv_emit *emit, LLVMValueRef gep, enum igv_value_shape shape) {
    if (shape == IGV_V_CHECKED) {
        emit_checked(emit, gep);
        return;
    }
    if (shape != IGV_V_VARYING) {
        igv_define_scalar(emit, gep, igv_emit_gep_scalar(emit, gep));
        return;
    }
    for (unsigned chunk = 0; chunk < emit->chunks; chunk++) {
        igv_define_vector(emit, gep, chunk, igv_emit_gep_vector(emit, gep, chunk));
    }
}

void igv_emit_instruction(struct igv_emit *emit, LLVMValueRef instruction) {
    enum igv_value_shape shape = igv_exact_shape(emit, instruction, NULL);
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMPHI:
    case LLVMBr:
    case LLVMRet:
    case LLVMExtractValue: /* of a cmpxchg, which has defined it */
        return;
    case LLVMAlloca:
        igv_emit_alloca(emit, instruction);
        return;
    case LLVMLoad:
        if (is_atomic(instruction)) {
            igv_lowerings(emit->request)->atomic(emit, instruction);
        } else {
            igv_emit_load(emit, instruction);
        }
        return;
    case LLVMStore:
        if (is_atomic(instruction)) {
            igv_lowerings(emit->request)->atomic(emit, instruction);
        } else {
            igv_emit_store(emit, instruction);
        }
        return;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
        igv_lowerings(emit->request)->atomic(emit, instruction);
        return;
    case LLVMGetElementPtr:
        emit_gep(emit, instruction, shape);
        return;
    case LLVMCall:
        emit_call(emit, instruction);
        return;
    case LLVMICmp:
        if (shape == IGV_V_VARYING && emit_count_compare(emit, instruction)) {
            return;
        }
        break;
    default:
        break;
    }
    if (shape == IGV_V_CHECKED) {
        emit_checked(emit, instruction);
    } else if (shape == IGV_V_VARYING) {
        emit_vector(emit, instruction);
    } else {
        emit_scalar(emit, instruction);
    }
}
