/*
 * One kernel for one target: a copy of it goes through the passes of the target's back end and
 * becomes code. Requires a scalar kernel as middle/passes.c leaves it; leaves that as it is.
 */
#include <string.h>

#include "compiler/backend/backend.h"

ingot_status igc_machine_create(const struct igc_target *target, LLVMTargetMachineRef *machine,
                                struct ig_error *error) {
    if (target->backend && target->backend->start) {
        target->backend->start();
    }
    return igc_processor_machine(&target->processor, machine, error);
}

/* The copy, with what goes with a target. */
static ingot_status start(struct igc_kernel *kernel, const struct igc_kernel *scalar,
                          const struct igc_target *target) {
    size_t length;
    const struct igc_backend *backend = target->backend;
    *kernel = *scalar;
    kernel->target = target;
    kernel->threadgroup_bytes = 0;
    kernel->facts = backend->facts_size ? ig_arena_alloc(kernel->arena, backend->facts_size) : NULL;
    if (backend->facts_size && !kernel->facts) {
        return ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for kernel %s", kernel->name);
    }
    ingot_status status = igc_machine_create(target, &kernel->machine, kernel->error);
    if (!status) {
        igc_kernel_set_module(kernel, LLVMCloneModule(scalar->module));
        kernel->function =
            LLVMGetNamedFunction(kernel->module, LLVMGetValueName2(scalar->function, &length));
        kernel->builder = LLVMCreateBuilderInContext(kernel->context);
    }
    return status;
}

static void end(struct igc_kernel *kernel) {
    if (kernel->target->backend->free_facts) {
        kernel->target->backend->free_facts(kernel);
    }
    LLVMDisposeBuilder(kernel->builder);
    LLVMDisposeModule(kernel->module);
    LLVMDisposeTargetMachine(kernel->machine);
}

static ingot_status try_target(const struct igc_kernel *scalar, const struct igc_target *target,
                               struct igc_code *code, uint32_t *threadgroup_bytes) {
    const struct igc_backend *backend = target->backend;
    struct igc_kernel kernel;
    ingot_status status = start(&kernel, scalar, target);
    if (status) {
        return status;
    }
    status = igc_run_passes(&kernel, backend->passes);
    bool goes_on = !status && !kernel.emission && kernel.wanted != IGC_WANT_NO_CODE;
    if (goes_on) {
        status = backend->make_code(&kernel, code);
    }
    if (goes_on && !status && backend->package && kernel.wanted != IGC_WANT_ASSEMBLY) {
        status = backend->package(&kernel, code);
    }
    if (!status && *threadgroup_bytes < kernel.threadgroup_bytes) {
        *threadgroup_bytes = kernel.threadgroup_bytes;
    }
    end(&kernel);
    return status;
}

ingot_status igc_compile_for(const struct igc_kernel *scalar, const struct igc_target *target,
                             struct igc_code *code, uint32_t *threadgroup_bytes) {
    const struct igc_backend *backend = target->backend;
    *code = (struct igc_code){0};
    ingot_status status = try_target(scalar, target, code, threadgroup_bytes);
    const struct igc_target *other =
        status == INGOT_INTERNAL_ERROR && backend->fallback ? backend->fallback(target) : NULL;
    if (other) {
        ig_error_clear(scalar->error);
        *code = (struct igc_code){0};
        status = try_target(scalar, other, code, threadgroup_bytes);
    }
    return status;
}
