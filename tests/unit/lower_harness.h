/*
 * Runs a kernel written in LLVM IR: prepared, vectorised, compiled in memory, with a device
 * that records what is asked of it. For the tests of the built-ins.
 */
#ifndef INGOT_TESTS_LOWER_HARNESS_H
#define INGOT_TESTS_LOWER_HARNESS_H

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compiler/cpu/vectorise/emit.h"
#include "prepare_harness.h"

enum { LANES = 32, BUFFER_BYTES = 4096 };

/* ---- the device's side ------------------------------------------------------------------- */
static uint32_t barrier_mask, log_count, log_first, log_last;

static void on_barrier(const struct ingot_cpu_group *group, uint32_t simdgroup, uint32_t mask) {
    (void)group;
    (void)simdgroup;
    barrier_mask = mask;
}

static void on_log(const struct ingot_cpu_group *group, uint32_t level, const char *format,
                   uint32_t count, const uint64_t *args) {
    (void)group;
    (void)format;
    if (log_count++ == 0) {
        log_first = (uint32_t)args[0] + 100 * level + 1000 * count;
    }
    log_last = (uint32_t)args[0] + 100 * level + 1000 * count;
}

static void on_trap(const struct ingot_cpu_group *group, const char *reason) {
    (void)group;
    fprintf(stderr, "trap: %s\n", reason);
}

static const struct ingot_cpu_services services = {
    .barrier = on_barrier, .log = on_log, .trap = on_trap};
static _Alignas(128) char memory[4][BUFFER_BYTES];
static _Alignas(128) char threadgroup_memory[BUFFER_BYTES];
static void *const buffers[4] = {memory[0], memory[1], memory[2], memory[3]};
static const uint32_t threadgroup_offsets[4] = {256, 512, 768, 1024};
static const uint32_t slots[4] = {0, 1, 2, 3};

static struct ingot_cpu_group one_simdgroup(void) {
    return (struct ingot_cpu_group){
        .buffers = buffers,
        .threadgroup_memory = threadgroup_memory,
        .threadgroup_offsets = threadgroup_offsets,
        .services = &services,
        .groups_per_grid = {1, 1, 1},
        .group_size = {32, 1, 1},
        .full_group_size = {32, 1, 1},
        .threads_per_grid = {32, 1, 1},
        .thread_count = 32,
        .simdgroup_count = 1,
        .full_simdgroup_count = 1,
    };
}

/* ---- from IR to a function ---------------------------------------------------------------- */
struct code {
    LLVMContextRef context;
    LLVMExecutionEngineRef engine;
    ingot_cpu_simdgroup_fn *function;
};

static bool fail_build(const char *what, const char *why, const char *text) {
    fprintf(stderr, "%s: %s\n%s\n", what, why, text);
    check_failed++;
    return false;
}

static bool vectorise(LLVMModuleRef module, const struct igv_target *target, enum ingot_cpu_ids ids,
                      bool full_mask, struct ig_error *error) {
    LLVMTargetMachineRef machine;
    struct ig_arena arena = {0};
    LLVMValueRef kernel = LLVMGetNamedFunction(module, "kernel");
    uint32_t threadgroup_bytes = 0;
    if (igc_machine_create(&target->common, &machine, error)) {
        return false;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMSetTarget(module, "x86_64-unknown-linux-gnu");
    struct igv_request request = {.module = module,
                                  .kernel = kernel,
                                  .machine = machine,
                                  .target = target,
                                  .ids = ids,
                                  .full_mask = full_mask,
                                  .buffer_slots = slots,
                                  .threadgroup_slots = slots,
                                  .name = "vector_kernel"};
    struct igv_result result = {0};
    bool good = !prepare_kernel(module, kernel, machine, &threadgroup_bytes, error) &&
                !igv_vectorise(&arena, &request, &result, error);
    if (good) {
        LLVMDeleteFunction(kernel);
        bool uses_units = false;
        good = !igv_lower_tiles(module, machine, target, &uses_units, error);
    }
    if (good) {
        LLVMAddTargetDependentFunctionAttr(result.function, "target-cpu",
                                           target->common.processor.cpu);
        LLVMAddTargetDependentFunctionAttr(result.function, "min-legal-vector-width", "512");
        LLVMAddTargetDependentFunctionAttr(result.function, "prefer-vector-width", "512");
        LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
        LLVMErrorRef failed = LLVMRunPasses(
            module,
            "function(mem2reg,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)",
            machine, options);
        if (failed) {
            LLVMConsumeError(failed);
        }
        LLVMDisposePassBuilderOptions(options);
    }
    LLVMDisposeTargetData(layout);
    LLVMDisposeTargetMachine(machine);
    ig_arena_free(&arena);
    return good;
}

static bool build(const char *name, const char *text, const struct igv_target *target,
                  enum ingot_cpu_ids ids, bool full_mask, struct code *code) {
    char *message = NULL;
    LLVMModuleRef module;
    code->context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), name);
    if (LLVMParseIRInContext(code->context, buffer, &module, &message)) {
        return fail_build(name, message, text);
    }
    struct ig_error error = {0};
    if (!vectorise(module, target, ids, full_mask, &error)) {
        return fail_build(name, ig_error_text(&error), text);
    }
    if (getenv("INGOT_TEST_DUMP")) {
        LLVMDumpModule(module);
    }
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) {
        LLVMDumpModule(module);
        return fail_build(name, message, text);
    }
    LLVMDisposeMessage(message);
    struct LLVMMCJITCompilerOptions options;
    LLVMInitializeMCJITCompilerOptions(&options, sizeof options);
    options.OptLevel = 2;
    if (LLVMCreateMCJITCompilerForModule(&code->engine, module, &options, sizeof options,
                                         &message)) {
        return fail_build(name, message, text);
    }
    uint64_t address = LLVMGetFunctionAddress(code->engine, "vector_kernel");
    code->function = (ingot_cpu_simdgroup_fn *)(uintptr_t)address;
    return address != 0;
}

static void code_free(struct code *code) {
    if (code->engine) {
        LLVMDisposeExecutionEngine(code->engine);
    }
    if (code->context) {
        LLVMContextDispose(code->context);
    }
}

/* Runs `tests` for the levels of CPU that this machine has; main's return value. */
static inline int run_for_targets(void (*tests)(const struct igv_target *target)) {
    LLVMLinkInMCJIT();
    igc_llvm_start();
    const struct igv_target *host = igv_target_host();
    const struct igv_target *v3 = igv_target_find("x86-64-v3");
    if (!host) {
        printf("0 passed, 0 failed (this CPU has neither AVX-512 nor AVX2)\n");
        return 0;
    }
    tests(host);
    if (host != v3) {
        tests(v3);
    }
    return check_report();
}

#endif
