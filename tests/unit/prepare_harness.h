/* A kernel in the form that the vectoriser requires, by the passes of cpu/passes.c. */
#ifndef INGOT_TEST_PREPARE_HARNESS_H
#define INGOT_TEST_PREPARE_HARNESS_H

#include "compiler/cpu/cpu.h"

static inline ingot_status prepare_kernel(LLVMModuleRef module, LLVMValueRef function,
                                          LLVMTargetMachineRef machine, uint32_t *threadgroup_bytes,
                                          struct ig_error *error) {
    struct ig_arena arena = {0};
    struct igc_kernel kernel = {.arena = &arena,
                                .name = "the test's",
                                .function = function,
                                .machine = machine,
                                .error = error};
    igc_kernel_set_module(&kernel, module);
    kernel.builder = LLVMCreateBuilderInContext(kernel.context);
    ingot_status status = igc_run_passes(&kernel, igv_prepare_passes);
    *threadgroup_bytes = kernel.threadgroup_bytes;
    LLVMDisposeBuilder(kernel.builder);
    ig_arena_free(&arena);
    return status;
}

#endif
