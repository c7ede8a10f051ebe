/*
 * Functions that stay functions, in the form that the vectoriser takes: without arguments and
 * result. Numbers go there and back by built-ins (ir/builtins.def: kept_…), each at its place, in
 * words of 32 bits: first what the function takes, then what it gives. Requires what
 * middle/kept_calls.c provides, optimised.
 */
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

static bool is_long(struct igc_kernel *k, LLVMTypeRef type) {
    return LLVMStoreSizeOfType(k->layout, type) == 8;
}

static unsigned words_of(struct igc_kernel *k, LLVMTypeRef type) {
    return is_long(k, type) ? 2 : 1;
}

static unsigned words_taken(struct igc_kernel *k, LLVMValueRef function) {
    unsigned words = 0;
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        words += words_of(k, LLVMTypeOf(LLVMGetParam(function, i)));
    }
    return words;
}

static LLVMTypeRef result_type(LLVMValueRef function) {
    return LLVMGetReturnType(LLVMGlobalGetValueType(function));
}

static unsigned result_count(LLVMTypeRef type) {
    return igv_is_aggregate(type) ? LLVMCountStructElementTypes(type) : 1;
}

static LLVMTypeRef result_at(LLVMTypeRef type, unsigned i) {
    return igv_is_aggregate(type) ? LLVMStructGetTypeAtIndex(type, i) : type;
}

static LLVMTypeRef integer_like(struct igc_kernel *k, LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind
               ? type
               : LLVMIntTypeInContext(k->context,
                                      8 * (unsigned)LLVMStoreSizeOfType(k->layout, type));
}

static LLVMValueRef to_words(struct igc_kernel *k, LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    value = LLVMBuildBitCast(k->builder, value, integer_like(k, type), "");
    return LLVMBuildZExt(k->builder, value, is_long(k, type) ? k->i64 : k->i32, "");
}

static LLVMValueRef from_words(struct igc_kernel *k, LLVMValueRef words, LLVMTypeRef type) {
    words = LLVMBuildTrunc(k->builder, words, integer_like(k, type), "");
    return LLVMBuildBitCast(k->builder, words, type, "");
}

/* A call of the built-in, of those two that goes with the type. */
static LLVMValueRef call(struct igc_kernel *k, enum igi_builtin b32, enum igi_builtin b64,
                         LLVMTypeRef type, unsigned place, LLVMValueRef value) {
    const enum igi_builtin builtin = is_long(k, type) ? b64 : b32;
    LLVMValueRef function = igi_declare(k->module, builtin);
    LLVMValueRef operands[] = {igc_integer(k->i32, place), value};
    uint64_t memory;
    if (igi_memory_attribute(igi_facts(builtin)->memory, &memory)) {
        igi_add_attribute(function, "memory", memory);
    }
    igi_add_attribute(function, "nounwind", 0);
    igi_add_attribute(function, "willreturn", 0);
    return LLVMBuildCall2(k->builder, LLVMGlobalGetValueType(function), function, operands,
                          value ? 2 : 1, "");
}

/* ---- where it is called -----------------------------------------------------------------------
 */
static bool is_kept_call(struct igc_kernel *kernel, LLVMValueRef in) {
    (void)kernel;
    LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
    return callee && LLVMIsAFunction(callee) && igc_kept_number(callee) != IGI_NONE;
}

static void take_call_apart(struct igc_kernel *k, LLVMValueRef in) {
    LLVMValueRef function = LLVMGetCalledValue(in);
    LLVMTypeRef type = result_type(function);
    unsigned place = 0;
    LLVMPositionBuilderBefore(k->builder, in);
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMValueRef value = LLVMGetOperand(in, i);
        call(k, IGI_kept_pass_b32, IGI_kept_pass_b64, LLVMTypeOf(value), place, to_words(k, value));
        place += words_of(k, LLVMTypeOf(value));
    }
    LLVMValueRef callee = igi_declare(k->module, IGI_kept_call);
    LLVMValueRef number = igc_integer(k->i32, igc_kept_number(function));
    LLVMBuildCall2(k->builder, LLVMGlobalGetValueType(callee), callee, &number, 1, "");
    LLVMValueRef all = LLVMGetPoison(type);
    for (unsigned i = 0; i < result_count(type); i++) {
        LLVMTypeRef one = result_at(type, i);
        LLVMValueRef value =
            from_words(k, call(k, IGI_kept_result_b32, IGI_kept_result_b64, one, place, NULL), one);
        place += words_of(k, one);
        all = igv_is_aggregate(type) ? LLVMBuildInsertValue(k->builder, all, value, i, "") : value;
    }
    igi_replace(in, all);
}

static ingot_status take_calls_apart(struct igc_kernel *k) {
    struct igc_list calls = igc_collect(k, is_kept_call);
    if (calls.failed) {
        return igc_out_of_memory(k);
    }
    for (size_t i = 0; i < calls.count; i++) {
        take_call_apart(k, calls.items[i]);
    }
    return INGOT_OK;
}

/* ---- the function -----------------------------------------------------------------------------
 */
static void take_arguments(struct igc_kernel *k, LLVMValueRef function) {
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    LLVMPositionBuilderBefore(k->builder, LLVMGetFirstInstruction(entry));
    unsigned place = 0;
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMValueRef argument = LLVMGetParam(function, i);
        LLVMTypeRef type = LLVMTypeOf(argument);
        if (LLVMGetFirstUse(argument)) {
            LLVMValueRef words =
                call(k, IGI_kept_argument_b32, IGI_kept_argument_b64, type, place, NULL);
            LLVMReplaceAllUsesWith(argument, from_words(k, words, type));
        }
        place += words_of(k, type);
    }
}

static void give_results(struct igc_kernel *k, LLVMValueRef function, LLVMValueRef end) {
    LLVMTypeRef type = result_type(function);
    LLVMValueRef all = LLVMGetOperand(end, 0);
    unsigned place = words_taken(k, function);
    LLVMPositionBuilderBefore(k->builder, end);
    for (unsigned i = 0; i < result_count(type); i++) {
        LLVMTypeRef one = result_at(type, i);
        LLVMValueRef value =
            igv_is_aggregate(type) ? LLVMBuildExtractValue(k->builder, all, i, "") : all;
        call(k, IGI_kept_return_b32, IGI_kept_return_b64, one, place, to_words(k, value));
        place += words_of(k, one);
    }
    LLVMBuildRetVoid(k->builder);
    LLVMInstructionEraseFromParent(end);
}

/* The same blocks in a function without parameters. Nothing calls it by its name, so that it must
 * be visible to stay. */
static void replace_function(struct igc_kernel *k, LLVMValueRef function) {
    size_t length;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), NULL, 0, false);
    LLVMValueRef plain = LLVMAddFunction(k->module, "", type);
    LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                                               IGC_KEPT, sizeof IGC_KEPT - 1);
    take_arguments(k, function);
    igi_each_block_safe(b, function) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (LLVMIsAReturnInst(end)) {
            give_results(k, function, end);
        }
    }
    igi_each_block_safe(b, function) {
        LLVMRemoveBasicBlockFromParent(b);
        LLVMAppendExistingBasicBlock(plain, b);
    }
    LLVMAddAttributeAtIndex(plain, LLVMAttributeFunctionIndex, attribute);
    igi_add_attribute(plain, "nounwind", 0);
    const char *name = LLVMGetValueName2(function, &length);
    char *copy = ig_arena_copy(k->arena, name, length);
    LLVMDeleteFunction(function);
    LLVMSetValueName2(plain, copy ? copy : "", copy ? length : 0);
}

enum igc_result igv_prepare_kept(struct igc_kernel *kernel) {
    unsigned count;
    LLVMValueRef own = kernel->function, *functions = igc_kept_functions(kernel, &count);
    ingot_status status = functions ? INGOT_OK : igc_out_of_memory(kernel);
    for (unsigned i = 0; i <= count && !status; i++) {
        kernel->function = i == count ? own : functions[i];
        status = kernel->function ? take_calls_apart(kernel) : INGOT_OK;
    }
    kernel->function = own;
    for (unsigned i = 0; i < count && !status; i++) {
        if (functions[i]) {
            replace_function(kernel, functions[i]);
        }
    }
    return status ? IGC_FAILED : count ? IGC_CHANGED : IGC_UNCHANGED;
}
