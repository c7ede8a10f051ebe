/*
 * The passes that make a module for NVIDIA's GPUs of the lowered kernel, and helpers of all of this
 * back end's passes. passes.c has the order.
 */
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"
#include "compiler/nvptx/nvptx.h"

/* ---- shared with the other files ---- */
/* LLVM may move and join calls that touch no memory, but not those that look at other lanes. */
LLVMValueRef igp_declare(struct igc_kernel *kernel, struct igi_name name, LLVMTypeRef type) {
    LLVMValueRef function = igi_find_named(kernel->module, name);
    if (!function) {
        const struct igi_facts *facts = igi_facts(name.builtin);
        char text[IGI_MOST_LETTERS];
        igi_name_write(name, text);
        function = LLVMAddFunction(kernel->module, text, type);
        igi_add_attribute(function, "nounwind", 0);
        if (facts->memory == IGI_MEMORY_NONE && !igi_uses_lanes(facts)) {
            igi_add_attribute(function, "memory", 0);
        }
    }
    return function;
}

LLVMValueRef igp_call(struct igc_kernel *kernel, struct igi_name name, LLVMTypeRef result,
                      LLVMValueRef *args, unsigned count) {
    LLVMTypeRef types[16];
    for (unsigned i = 0; i < count; i++) {
        types[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    return LLVMBuildCall2(kernel->builder, type, igp_declare(kernel, name, type), args, count, "");
}

struct wanted {
    bool (*is)(LLVMValueRef instruction);
};

static bool is_wanted(void *context, LLVMValueRef instruction) {
    return ((const struct wanted *)context)->is(instruction);
}

LLVMValueRef *igp_collect(struct igc_kernel *kernel, bool (*wanted)(LLVMValueRef instruction)) {
    struct wanted context = {wanted};
    return igi_collect(kernel->arena, kernel->function, is_wanted, &context, NULL);
}

/* ---- before the text ---- */
enum igc_result igp_start(struct igc_kernel *k) {
    LLVMSetValueName2(k->function, "nv.body", 7);
    igc_forget_cpu(k->module);
    LLVMStripModuleDebugInfo(k->module);
    return IGC_CHANGED;
}

uint64_t igp_panel_bytes(const struct igc_kernel *kernel) {
    LLVMValueRef function = igi_find(kernel->module, IGI_has_panels);
    uint64_t most = 0;
    for (LLVMUseRef use = function ? LLVMGetFirstUse(function) : NULL; use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef bytes = LLVMGetOperand(LLVMGetUser(use), 1);
        const uint64_t value = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : 0;
        most = value > most ? value : most;
    }
    return most;
}

static bool is_threadgroup_variable(LLVMValueRef global) {
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) == INGOT_SPACE_THREADGROUP &&
           LLVMGetFirstUse(global);
}

/* Where a threadgroup variable begins after `total` bytes, and ends. */
static uint64_t place_variable(struct igc_kernel *k, LLVMValueRef g, uint64_t *total) {
    uint64_t alignment = LLVMGetAlignment(g);
    uint64_t at = (*total + alignment - 1) / alignment * alignment;
    *total = at + LLVMABISizeOfType(LLVMGetModuleDataLayout(k->module), LLVMGlobalGetValueType(g));
    return at;
}

/* More than modules may have: they become the beginning of dynamic memory. */
static void make_dynamic(struct igc_kernel *k) {
    LLVMTypeRef byte = LLVMInt8TypeInContext(k->context);
    LLVMValueRef dynamic = LLVMAddGlobalInAddressSpace(k->module, LLVMArrayType2(byte, 0),
                                                       "ingot_dynamic", INGOT_SPACE_THREADGROUP);
    LLVMSetAlignment(dynamic, 16);
    uint64_t total = 0;
    igi_each_global_safe(g, k->module) {
        if (g == dynamic || !is_threadgroup_variable(g)) {
            continue;
        }
        LLVMValueRef at =
            LLVMConstInt(LLVMInt64TypeInContext(k->context), place_variable(k, g, &total), false);
        LLVMReplaceAllUsesWith(g, LLVMConstInBoundsGEP2(byte, dynamic, &at, 1));
        LLVMDeleteGlobal(g);
    }
}

/* Threadgroup variables have no first value, and their sizes add up. */
enum igc_result igp_place_threadgroup(struct igc_kernel *k) {
    uint64_t total = 0;
    unsigned number = 0;
    igi_each_global(g, k->module) {
        char name[32];
        snprintf(name, sizeof name, "ingot_global_%u", number++);
        LLVMSetValueName2(g, name, strlen(name)); /* PTX allows fewer characters than C++ */
        if (!is_threadgroup_variable(g)) {
            continue;
        }
        if (LLVMGetAlignment(g) < 16) {
            LLVMSetAlignment(g, 16);
        }
        LLVMSetInitializer(g, LLVMGetUndef(LLVMGlobalGetValueType(g)));
        LLVMSetExternallyInitialized(g, false);
        place_variable(k, g, &total);
    }
    if (total > INGOT_CUDA_MAX_STATIC) {
        make_dynamic(k);
    }
    k->threadgroup_bytes = (uint32_t)((total + 15) / 16 * 16);
    return IGC_CHANGED;
}

/* ---- the text, and after it ---- */
/* The module, the library's functions that it calls, and the entry point, as text. */
static ingot_status write_text(const struct igc_kernel *k, struct ig_text *text) {
    struct ig_text library = {0};
    char *printed = LLVMPrintModuleToString(k->module);
    igp_respace(printed, true, text);
    LLVMDisposeMessage(printed);
    igp_write_library(k, &library);
    igp_write_entry(k, &library);
    igp_respace(ig_text_string(&library), false, text);
    text->failed |= library.failed;
    ig_text_free(&library);
    if (text->failed) {
        return ig_fail(k->error, INGOT_OUT_OF_MEMORY, "no memory for the text of a kernel");
    }
    const char *dumped = ig_environment("INGOT_DUMP");
    if (dumped && !strcmp(dumped, "retarget-text")) {
        fputs(text->data, stderr);
    }
    return INGOT_OK;
}

/* Why the module is printed and parsed again: Metal's constant address space, 6 after clang, is
 * generic here, and LLVM cannot change the address space of a type in place. Every value with such
 * a pointer would have to be built anew, with its uses, its metadata and the order of its block; in
 * the text it is a word less (respace.c). The library is text for its own sake: its functions are
 * LLVM IR that people read. */
enum igc_result igp_retarget(struct igc_kernel *k) {
    struct ig_text text = {0};
    if (write_text(k, &text)) {
        ig_text_free(&text);
        return IGC_FAILED;
    }
    char *message = NULL;
    LLVMModuleRef module = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "kernel.ll");
    LLVMBool bad = LLVMParseIRInContext(k->context, buffer, &module, &message);
    ig_text_free(&text);
    if (bad) {
        ig_fail(k->error, INGOT_INTERNAL_ERROR, "the kernel's code for NVIDIA GPUs is wrong: %s",
                message);
        LLVMDisposeMessage(message);
        return IGC_FAILED;
    }
    LLVMDisposeModule(k->module);
    igc_kernel_set_module(k, module);
    igc_kernel_set_target(k);
    LLVMValueRef body = LLVMGetNamedFunction(module, "nv.body");
    LLVMSetLinkage(body, LLVMInternalLinkage);
    igi_add_attribute(body, "alwaysinline", 0);
    k->function = LLVMGetNamedFunction(module, INGOT_CUDA_KERNEL_SYMBOL);
    return IGC_CHANGED;
}

static LLVMValueRef value_named(LLVMValueRef function, const char *name) {
    igi_each_instruction(in, function) {
        size_t length;
        if (!strcmp(LLVMGetValueName2(in, &length), name)) {
            return in;
        }
    }
    return NULL;
}

/* Calls of nv.X, of which only the names are left, become the entry point's value nv.X. */
enum igc_result igp_fill_in(struct igc_kernel *k) {
    LLVMValueRef entry = k->function;
    igi_each_function_safe(f, k->module) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        if (!LLVMIsDeclaration(f) ||
            igi_facts(igi_builtin_of_function(f))->family != IGI_FAMILY_NV_ENTRY_VALUE) {
            continue;
        }
        LLVMValueRef value = value_named(entry, name);
        if (!value && LLVMGetFirstUse(f)) {
            return igc_result_of(
                ig_fail(k->error, INGOT_INTERNAL_ERROR, "the entry point has no value %s", name));
        }
        igi_while_used(use, f) {
            igi_replace(LLVMGetUser(use), value);
        }
        LLVMDeleteFunction(f);
    }
    return IGC_CHANGED;
}

/* Everything is inlined, so what is still called is LLVM's, or a mark (cache_hints.c), or does not
 * exist. */
enum igc_result igp_check_calls(struct igc_kernel *k) {
    igi_each_instruction(in, k->function) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        if (!callee || LLVMIsAInlineAsm(callee)) {
            continue;
        }
        if (!igi_callee(in)) {
            return igc_result_of(
                ig_fail(k->error, INGOT_COMPILE_ERROR,
                        "the kernel calls a function through a pointer that is only known "
                        "when it runs"));
        }
        if (!igi_is_intrinsic(in) && !igi_is_call_of(in, IGI_nv_staying)) {
            return igc_result_of(igc_fail_undefined(igi_callee_text(in), k->error));
        }
    }
    return IGC_UNCHANGED;
}
