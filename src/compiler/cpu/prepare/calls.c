/*
 * Calls: drops the intrinsics that only inform the optimiser, replaces those that are their own
 * operand, takes apart arithmetic with overflow, and refuses what cannot run in lockstep.
 */
#include "compiler/cpu/prepare/prepare.h"

#include "compiler/ir/builtins.h"
#include "compiler/middle/middle.h"

#include <string.h>

static bool is_call(struct igc_kernel *kernel, LLVMValueRef instruction) {
    (void)kernel;
    return LLVMIsACallInst(instruction) != NULL;
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
static bool expand_overflow(struct igc_kernel *kernel, LLVMValueRef call) {
    bool is_signed = false;
    LLVMOpcode opcode = LLVMMul;
    switch (igi_intrinsic_of(call)) {
    case IGI_LLVM_sadd_with_overflow:
        is_signed = true; /* fall through */
    case IGI_LLVM_uadd_with_overflow:
        opcode = LLVMAdd;
        break;
    case IGI_LLVM_ssub_with_overflow:
        is_signed = true; /* fall through */
    case IGI_LLVM_usub_with_overflow:
        opcode = LLVMSub;
        break;
    default:
        is_signed = igi_intrinsic_of(call) == IGI_LLVM_smul_with_overflow;
        break;
    }
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
        unsigned flags = igi_intrinsic_flags_of(call);
        if (flags & IGI_I_OVERFLOW) {
            expand_overflow(kernel, call);
        } else if (flags & IGI_I_NO_RESULT) {
            LLVMInstructionEraseFromParent(call);
        } else if (flags & IGI_I_OPERAND || igi_facts_of(call)->flags & IGI_HINT) {
            igi_replace(call, LLVMGetOperand(call, 0));
        } else if (flags & IGI_I_ZERO) {
            igi_replace(call, LLVMConstNull(LLVMTypeOf(call)));
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
    const enum igi_handled handled = igi_facts_of(call)->handled;
    if (!igi_is_intrinsic(call) && handled != IGI_HANDLED_BOTH && handled != IGI_HANDLED_CPU) {
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
