/*
 * numeric: the first NaN or infinity that appears from finite operands.
 *
 * Two passes. The first runs before anything is inlined, and marks calls of Metal's functions of
 * floats (exp, sqrt, pow, …), which consist of many instructions that may overflow on the way. The
 * second looks at those marks and at the user's own arithmetic, operators of vectors included: the
 * result must be finite where the operands are. Conclusions of LLVM from flags that promise finite
 * numbers are given up for what is checked.
 */
#include <string.h>

#include "compiler/ir/builtins.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum { MOST_ARGUMENTS = 3 };

static bool is_real(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMFloatTypeKind || kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
}

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static LLVMTypeRef single(struct igc_kernel *kernel) {
    return LLVMFloatTypeInContext(kernel->context);
}

/* ---- marks of calls ---- */

/* The name of metal::NAME, metal::fast::NAME or metal::precise::NAME of floats alone; NULL: it is
 * another function. */
static const char *function_name(LLVMValueRef function, size_t *length) {
    static const char *const spaces[] = {"_ZN5metal4fast", "_ZN5metal7precise", "_ZN5metal"};
    size_t all;
    const char *mangled = function ? LLVMGetValueName2(function, &all) : "";
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        const char *at = mangled + strlen(spaces[i]);
        if (strncmp(mangled, spaces[i], strlen(spaces[i])) || *at < '1' || *at > '9') {
            continue;
        }
        for (*length = 0; *at >= '0' && *at <= '9'; at++) {
            *length = *length * 10 + (size_t)(*at - '0');
        }
        return strlen(at) > *length && at[*length] == 'E' && at[0] != '_' ? at : NULL;
    }
    return NULL;
}

static bool is_function_of_floats(LLVMValueRef call) {
    unsigned count = (unsigned)LLVMGetNumArgOperands(call);
    size_t length;
    if (!is_real(LLVMTypeOf(call)) || count == 0 || count > MOST_ARGUMENTS) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!is_real(LLVMTypeOf(LLVMGetOperand(call, i)))) {
            return false;
        }
    }
    return function_name(igi_callee(call), &length) != NULL;
}

static LLVMValueRef as_single(struct igc_kernel *kernel, LLVMValueRef value) {
    return LLVMBuildFPCast(kernel->builder, value, single(kernel), "");
}

static void mark_call(struct igc_kernel *kernel, LLVMValueRef call) {
    LLVMBuilderRef b = kernel->builder;
    size_t length;
    const char *name = function_name(igi_callee(call), &length);
    const char *text = ig_arena_copy(kernel->arena, name, length);
    unsigned count = (unsigned)LLVMGetNumArgOperands(call);
    if (!text) {
        igc_out_of_memory(kernel);
        return;
    }
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(call));
    LLVMValueRef args[] = {as_single(kernel, call),         LLVMConstNull(single(kernel)),
                           LLVMConstNull(single(kernel)),   LLVMConstNull(single(kernel)),
                           igc_integer(kernel->i32, count), LLVMBuildGlobalString(b, text, "")};
    for (unsigned i = 0; i < count; i++) {
        args[1 + i] = as_single(kernel, LLVMGetOperand(call, i));
    }
    args[5] = LLVMConstAddrSpaceCast(args[5], LLVMPointerTypeInContext(kernel->context, 0));
    igs_call(kernel, IGI_san_finite, args, 6);
}

enum igc_result igs_mark_functions(struct igc_kernel *kernel) {
    igi_each_function(f, kernel->module) {
        igi_each_instruction_safe(in, f) {
            if (LLVMIsACallInst(in) && is_function_of_floats(in)) {
                mark_call(kernel, in);
            }
        }
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}

/* ---- checks ---- */

/* By bits, which no flag of fast maths can argue away. */
static LLVMValueRef is_finite(struct igc_kernel *kernel, LLVMValueRef value) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef exponent = igc_integer(kernel->i32, 0x7f800000);
    LLVMValueRef bits = LLVMBuildBitCast(b, value, kernel->i32, "");
    return LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, bits, exponent, ""), exponent, "");
}

/* The bits of two floats, which are what the runtime gets. */
static LLVMValueRef pair(struct igc_kernel *kernel, LLVMValueRef low, LLVMValueRef high) {
    LLVMBuilderRef b = kernel->builder;
    LLVMValueRef parts[2] = {low, high};
    for (unsigned i = 0; i < 2; i++) {
        parts[i] = LLVMBuildBitCast(b, parts[i], kernel->i32, "");
        parts[i] = LLVMBuildZExt(b, parts[i], kernel->i64, "");
    }
    return LLVMBuildOr(b, parts[0], LLVMBuildShl(b, parts[1], igc_integer(kernel->i64, 32), ""),
                       "");
}

struct operation {
    const char *name; /* as the report says it */
    LLVMValueRef result, operands[MOST_ARGUMENTS];
    unsigned count;
};

/* All of them floats by now. */
static void check(struct igc_kernel *kernel, LLVMValueRef instruction,
                  const struct operation *operation) {
    LLVMBuilderRef b = kernel->builder;
    uint32_t number;
    struct igs_place *place = igs_place_of(kernel, IG_SANITIZE_numeric, instruction, &number);
    if (!place) {
        return;
    }
    place->place.message = operation->name;
    place->place.detail = operation->count;
    LLVMValueRef ok = is_finite(kernel, operation->result);
    for (unsigned i = 0; i < operation->count; i++) {
        LLVMValueRef finite = is_finite(kernel, operation->operands[i]);
        ok = LLVMBuildOr(b, ok, LLVMBuildNot(b, finite, ""), "");
    }
    LLVMValueRef second = operation->count > 1 ? operation->operands[1] : operation->result;
    igs_expect(kernel, ok, number, pair(kernel, operation->operands[0], second));
}

static const char *operator_name(LLVMOpcode opcode) {
    switch (opcode) {
    case LLVMFAdd:
        return "+";
    case LLVMFSub:
        return "-";
    case LLVMFMul:
        return "*";
    case LLVMFDiv:
        return "/";
    case LLVMFRem:
        return "%";
    case LLVMFPTrunc:
        return "a conversion";
    case LLVMSIToFP:
    case LLVMUIToFP:
        return "a conversion";
    default:
        return NULL;
    }
}

static void forget_promises(LLVMValueRef instruction) {
    if (LLVMCanValueUseFastMathFlags(instruction)) {
        LLVMFastMathFlags flags = LLVMGetFastMathFlags(instruction);
        LLVMSetFastMathFlags(instruction,
                             flags & ~(unsigned)(LLVMFastMathNoNaNs | LLVMFastMathNoInfs));
    }
}

static LLVMValueRef element(struct igc_kernel *kernel, LLVMValueRef value, unsigned i) {
    LLVMBuilderRef b = kernel->builder;
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) {
        value = LLVMBuildExtractElement(b, value, igc_integer(kernel->i32, i), "");
    }
    return is_real(LLVMTypeOf(value)) ? as_single(kernel, value)
                                      : LLVMBuildUIToFP(b, value, single(kernel), "");
}

static void check_operator(struct igc_kernel *kernel, LLVMValueRef in) {
    LLVMTypeRef type = LLVMTypeOf(in);
    unsigned size = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
    forget_promises(in);
    LLVMPositionBuilderBefore(kernel->builder, LLVMGetNextInstruction(in));
    for (unsigned i = 0; i < size; i++) {
        struct operation operation = {.name = operator_name(LLVMGetInstructionOpcode(in)),
                                      .result = element(kernel, in, i),
                                      .count = (unsigned)LLVMGetNumOperands(in)};
        for (unsigned k = 0; k < operation.count; k++) {
            operation.operands[k] = element(kernel, LLVMGetOperand(in, k), i);
        }
        check(kernel, in, &operation);
    }
}

static void check_mark(struct igc_kernel *kernel, LLVMValueRef mark) {
    size_t length;
    const char *name = igc_constant_text(LLVMGetOperand(mark, 5), &length);
    struct operation operation = {
        .name = name ? ig_arena_copy(kernel->arena, name, strnlen(name, length)) : "a function",
        .result = LLVMGetOperand(mark, 0),
        .count = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(mark, 4))};
    for (unsigned i = 0; i < MOST_ARGUMENTS; i++) {
        operation.operands[i] = LLVMGetOperand(mark, 1 + i);
    }
    LLVMPositionBuilderBefore(kernel->builder, mark);
    check(kernel, mark, &operation);
    LLVMInstructionEraseFromParent(mark);
}

static bool is_checked(struct igc_kernel *kernel, LLVMValueRef in) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(in);
    if (opcode == LLVMCall) {
        return igi_is_call_of(in, IGI_san_finite);
    }
    if (!operator_name(opcode) || !is_real(scalar_of(LLVMTypeOf(in)))) {
        return false;
    }
    bool from_integer = opcode == LLVMSIToFP || opcode == LLVMUIToFP;
    bool is_half = LLVMGetTypeKind(scalar_of(LLVMTypeOf(in))) == LLVMHalfTypeKind;
    return (!from_integer || is_half) && igs_is_users_operation(kernel, in);
}

enum igc_result igs_check_numeric(struct igc_kernel *kernel) {
    struct igc_list list = igc_collect(kernel, is_checked);
    if (list.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < list.count; i++) {
        if (LLVMIsACallInst(list.items[i])) {
            check_mark(kernel, list.items[i]);
        } else {
            check_operator(kernel, list.items[i]);
        }
    }
    return kernel->error->status ? IGC_FAILED : IGC_CHANGED;
}
