/*
 * Calls: drops the intrinsics that only inform the optimiser, replaces those that are their own
 * operand, takes apart arithmetic with overflow, and refuses what cannot run in lockstep.
 */
#include "compiler/cpu/prepare/prepare.h"

#include "compiler/cpu/vectorise/emit.h"
#include "compiler/middle/middle.h"

#include <string.h>

enum action { KEEP, DROP, FIRST_OPERAND, ZERO };

static const struct {
    const char *prefix;
    enum action action;
} actions[] = {
    {"llvm.lifetime.", DROP},
    {"llvm.assume", DROP},
    {"llvm.dbg.", DROP},
    {"llvm.experimental.noalias.scope.decl", DROP},
    {"llvm.sideeffect", DROP},
    {"llvm.donothing", DROP},
    {"llvm.var.annotation", DROP},
    {"llvm.invariant.start", ZERO},
    {"llvm.invariant.end", DROP},
    {"llvm.prefetch", DROP},
    {"llvm.pseudoprobe", DROP},
    {"llvm.stackrestore", DROP},
    {"llvm.stacksave", ZERO},
    {"llvm.trap", DROP},
    {"llvm.debugtrap", DROP},
    {"llvm.ubsantrap", DROP},
    {"llvm.ptr.annotation", FIRST_OPERAND},
    {"llvm.annotation", FIRST_OPERAND},
    {"llvm.expect", FIRST_OPERAND},
    {"llvm.ssa.copy", FIRST_OPERAND},
    {"llvm.launder.invariant.group", FIRST_OPERAND},
    {"llvm.strip.invariant.group", FIRST_OPERAND},
    {"llvm.arithmetic.fence", FIRST_OPERAND},
    {"__ingot_staying", FIRST_OPERAND}, /* caches of CPUs are not told */
    {"llvm.is.constant", ZERO},
};

static bool starts_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

static bool is_call(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return LLVMIsACallInst(instruction) != NULL;
}

static enum action action_for(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (starts_with(name, actions[i].prefix)) {
            return actions[i].action;
        }
    }
    return KEEP;
}

/* ---- arithmetic with overflow ----------------------------------------------------------- */
static LLVMValueRef intrinsic_overflows(struct igc_kernel *kernel, LLVMOpcode opcode,
                                        bool is_signed, LLVMValueRef a, LLVMValueRef b,
                                        LLVMValueRef *result) {
    LLVMTypeRef type = LLVMTypeOf(a);
    unsigned width = LLVMGetIntTypeWidth(type);
    LLVMTypeRef wide = LLVMIntTypeInContext(kernel->context, width * 2);
    LLVMBuilderRef builder = kernel->builder;
    LLVMValueRef wide_a = LLVMBuildIntCast2(builder, a, wide, is_signed, "");
    LLVMValueRef wide_b = LLVMBuildIntCast2(builder, b, wide, is_signed, "");
    LLVMValueRef exact = LLVMBuildBinOp(builder, opcode, wide_a, wide_b, "");
    *result = LLVMBuildTrunc(builder, exact, type, "");
    LLVMValueRef back = LLVMBuildIntCast2(builder, *result, wide, is_signed, "");
    return LLVMBuildICmp(builder, LLVMIntNE, back, exact, "");
}

/* llvm.{s,u}{add,sub,mul}.with.overflow.*: the users are extractvalues. */
static bool expand_overflow(struct igc_kernel *kernel, LLVMValueRef call, const char *name) {
    bool is_signed = name[5] == 's';
    LLVMOpcode opcode = starts_with(name + 6, "add")   ? LLVMAdd
                        : starts_with(name + 6, "sub") ? LLVMSub
                                                       : LLVMMul;
    LLVMValueRef result, overflows;
    if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, 0))) != LLVMIntegerTypeKind) {
        return false;
    }
    LLVMPositionBuilderBefore(kernel->builder, call);
    overflows = intrinsic_overflows(kernel, opcode, is_signed, LLVMGetOperand(call, 0),
                                    LLVMGetOperand(call, 1), &result);
    LLVMValueRef whole = LLVMGetPoison(LLVMTypeOf(call));
    whole = LLVMBuildInsertValue(kernel->builder, whole, result, 0, "");
    whole = LLVMBuildInsertValue(kernel->builder, whole, overflows, 1, "");
    igi_replace(call, whole);
    return true;
}

enum igc_result igv_prepare_calls(struct igc_kernel *kernel) {
    struct igc_list calls = igc_collect(kernel, is_call);
    if (calls.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < calls.count; i++) {
        LLVMValueRef call = calls.items[i];
        const char *name = igv_callee_name(call);
        if (starts_with(name, "llvm.") && strstr(name, ".with.overflow.")) {
            expand_overflow(kernel, call, name);
            continue;
        }
        switch (action_for(name)) {
        case KEEP:
            break;
        case DROP:
            LLVMInstructionEraseFromParent(call);
            break;
        case FIRST_OPERAND:
            igi_replace(call, LLVMGetOperand(call, 0));
            break;
        case ZERO:
            igi_replace(call, LLVMConstNull(LLVMTypeOf(call)));
            break;
        }
    }
    return calls.count ? IGC_CHANGED : IGC_UNCHANGED;
}

/* ---- what cannot be run -------------------------------------------------------------------- */
static ingot_status check_call(struct igc_kernel *kernel, LLVMValueRef call) {
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t length;
    const char *called = LLVMGetValueName2(kernel->function, &length);
    if (callee && LLVMIsAInlineAsm(callee)) {
        return ig_fail(kernel->error, INGOT_COMPILE_ERROR, "kernel %s contains inline assembly",
                       called);
    }
    if (!callee || !LLVMIsAFunction(callee)) {
        return ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                       "kernel %s calls a function through a pointer, which compute kernels on "
                       "this device cannot do",
                       called);
    }
    const char *name = LLVMGetValueName2(callee, &length);
    if (!LLVMIsDeclaration(callee)) {
        return ig_fail(kernel->error, INGOT_COMPILE_ERROR,
                       "kernel %s calls %s, which is recursive or could not be inlined", called,
                       name);
    }
    if (!starts_with(name, "llvm.") && !igv_builtin_find(name)) {
        return igc_fail_undefined(name, kernel->error);
    }
    return INGOT_OK;
}

static bool is_refused(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMInvoke:
    case LLVMCallBr:
    case LLVMIndirectBr:
    case LLVMResume:
    case LLVMVAArg:
    case LLVMLandingPad:
        return true;
    case LLVMAlloca:
        return !LLVMIsAConstantInt(LLVMGetOperand(instruction, 0));
    default:
        return false;
    }
}

enum igc_result igv_prepare_check_calls(struct igc_kernel *kernel) {
    struct igc_list calls = igc_collect(kernel, is_call);
    struct igc_list refused = igc_collect(kernel, is_refused);
    if (calls.failed || refused.failed) {
        return igc_result_of(igc_out_of_memory(kernel));
    }
    for (size_t i = 0; i < calls.count; i++) {
        ingot_status status = check_call(kernel, calls.items[i]);
        if (status) {
            return igc_result_of(status);
        }
    }
    if (!refused.count) {
        return IGC_UNCHANGED;
    }
    size_t length;
    char *text = LLVMPrintValueToString(refused.items[0]);
    ig_fail(kernel->error, INGOT_COMPILE_ERROR,
            "kernel %s holds an instruction that cannot run "
            "in lockstep:%s",
            LLVMGetValueName2(kernel->function, &length), text);
    LLVMDisposeMessage(text);
    return IGC_FAILED;
}
