/* For test_analysis*.c: LLVM IR in, prepared and analysed kernel out. */
#ifndef INGOT_TESTS_ANALYSIS_HARNESS_H
#define INGOT_TESTS_ANALYSIS_HARNESS_H

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compiler/analysis/analysis.h"
#include "compiler/cpu/lower/lower.h"
#include "compiler/cpu/vectorise/emit.h"
#include "prepare_harness.h"

/* What most kernels below need. */
#define DECLARATIONS                                                                               \
    "target datalayout = \"e-m:e-i64:64-i128:128-n8:16:32:64-S128\"\n"                             \
    "target triple = \"x86_64-unknown-linux-gnu\"\n"                                               \
    "declare i32 @__ingot_thread_position_in_grid(i32) memory(none)\n"                             \
    "declare i32 @__ingot_thread_position_in_threadgroup(i32) memory(none)\n"                      \
    "declare i32 @__ingot_thread_index_in_simdgroup() memory(none)\n"                              \
    "declare ptr @__ingot_arg_device(i32) memory(none)\n"                                          \
    "declare void @__ingot_barrier(i32, i32) convergent\n"

struct analysed {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    LLVMValueRef kernel;
    struct ig_arena arena;
    struct ig_error error;
    struct igv_analysis analysis;
    uint32_t threadgroup_bytes;
    ingot_status status;
};

static const struct igv_target analysis_target = {
    .common = {.name = "x86-64-v4", .processor = {"x86_64-unknown-linux-gnu", "x86-64-v4", ""}},
    .lanes = 16,
    .chunks = 2,
    .bit_masks = true,
    .is_x86 = true,
    .lowerings = &igl_lowerings};

static inline void analysed_free(struct analysed *a) {
    ig_arena_free(&a->arena);
    ig_error_clear(&a->error);
    LLVMDisposeTargetMachine(a->machine);
    LLVMDisposeModule(a->module);
    LLVMContextDispose(a->context);
}

static inline LLVMTargetMachineRef analysis_machine(void) {
    LLVMTargetRef target;
    char *message = NULL;
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    if (LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &message)) {
        fprintf(stderr, "%s\n", message);
        exit(2);
    }
    return LLVMCreateTargetMachine(target, "x86_64-unknown-linux-gnu", "x86-64-v4", "",
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
}

/* The kernel is the function @k. */
static inline struct analysed analyse_text(const char *text, bool prepare) {
    struct analysed a = {.context = LLVMContextCreate(), .machine = analysis_machine()};
    char *message = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    if (LLVMParseIRInContext(a.context, buffer, &a.module, &message)) {
        fprintf(stderr, "the test's IR is wrong: %s\n%s\n", message, text);
        exit(2);
    }
    a.kernel = LLVMGetNamedFunction(a.module, "k");
    a.status = prepare
                   ? prepare_kernel(a.module, a.kernel, a.machine, &a.threadgroup_bytes, &a.error)
                   : INGOT_OK;
    if (!a.status) {
        struct igv_request request = {.module = a.module,
                                      .kernel = a.kernel,
                                      .machine = a.machine,
                                      .target = &analysis_target,
                                      .ids = INGOT_CPU_IDS_ALIGNED};
        a.status = igv_analyse(&a.arena, &request, &a.analysis, &a.error);
    }
    if (a.status && getenv("SHOW_ERRORS")) {
        fprintf(stderr, "%s\n", ig_error_text(&a.error));
    }
    if (!a.status && getenv("SHOW_ANALYSIS")) {
        struct ig_text shown = {0};
        igv_analysis_print(&a.analysis, &shown);
        fputs(ig_text_string(&shown), stderr);
        ig_text_free(&shown);
    }
    return a;
}

static inline unsigned block_named(const struct analysed *a, const char *name) {
    for (unsigned b = 0; b < a->analysis.block_count; b++) {
        if (!strcmp(LLVMGetBasicBlockName(a->analysis.blocks[b].block), name)) {
            return b;
        }
    }
    fprintf(stderr, "there is no block %s\n", name);
    exit(2);
}

static inline const struct igv_block *block_of(const struct analysed *a, const char *name) {
    return &a->analysis.blocks[block_named(a, name)];
}

static inline const struct igv_value *value_named(const struct analysed *a, const char *name) {
    for (unsigned i = 0; i < a->analysis.value_count; i++) {
        size_t length;
        if (!strcmp(LLVMGetValueName2(a->analysis.values[i].value, &length), name)) {
            return &a->analysis.values[i];
        }
    }
    fprintf(stderr, "there is no value %s\n", name);
    exit(2);
}

static inline bool is_uniform(const struct analysed *a, const char *name) {
    return value_named(a, name)->shape == IGV_V_UNIFORM;
}

static inline bool is_varying(const struct analysed *a, const char *name) {
    return value_named(a, name)->shape == IGV_V_VARYING;
}

static inline bool is_linear(const struct analysed *a, const char *name, long stride) {
    const struct igv_value *value = value_named(a, name);
    return value->shape == IGV_V_LINEAR && value->stride == stride;
}

static inline bool is_checked(const struct analysed *a, const char *name, long stride) {
    const struct igv_value *value = value_named(a, name);
    return value->shape == IGV_V_CHECKED && value->stride == stride;
}

#endif
