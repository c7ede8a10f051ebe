/*
 * One kernel, from clang's module to code for every target: the tables of passes, one after the
 * other.
 *
 *   igc_isolate_passes   once                                       middle/passes.c
 *   backend->early       for each back end that has targets, on a module of its own
 *   igc_scalar_passes    for each of them                           middle/passes.c
 *   backend->passes      for each target, on a copy of that         cpu/passes.c, nvptx/passes.c
 *   backend->make_code, backend->package                            (backend/compile.c)
 */
#include <string.h>

#include "compiler/driver/driver.h"

struct igc_job igc_job_of(const struct igc_command *command, const struct igc_source *source,
                          const char *kernel) {
    return (struct igc_job){.kernel = kernel,
                            .source = source,
                            .values = command->values,
                            .value_count = command->value_count,
                            .fast_math = command->front.fast_math,
                            .loose_alignment = command->loose_alignment,
                            .assumed_constants = command->assumed_constants,
                            .sanitize = command->sanitize,
                            .others = command->others,
                            .prelude_dir = command->front.prelude_dir};
}

/* The targets that are this back end's. */
static size_t count_targets(const struct igc_command *command, const struct igc_backend *backend) {
    size_t count = 0;
    for (size_t i = 0; i < command->target_count; i++) {
        count += command->targets[i]->backend == backend;
    }
    return count;
}

/* Arguments that some code uses are used. */
static void note_reflection(struct ig_variant *variant, struct igc_reflection *reflection) {
    for (uint32_t i = 0; i < variant->argument_count; i++) {
        reflection->arguments[i].unused &= variant->arguments[i].unused;
    }
    variant->max_threads = reflection->max_threads;
    variant->argument_count = reflection->argument_count;
    variant->arguments = reflection->arguments;
}

static ingot_status compile_targets(struct igc_kernel *kernel, const struct igc_backend *backend,
                                    const struct igc_command *command, struct ig_text *emitted,
                                    struct ig_variant *variant, struct ig_code *codes) {
    ingot_status status = INGOT_OK;
    for (size_t i = 0; i < command->target_count && !status; i++) {
        const struct igc_target *target = command->targets[i];
        struct igc_code code;
        if (target->backend != backend) {
            continue;
        }
        status = igc_compile_for(kernel, target, &code, &variant->static_threadgroup_bytes);
        if (!status && code.bytes && kernel->wanted == IGC_WANT_ASSEMBLY && emitted) {
            ig_text_append(emitted, code.bytes, code.size);
        } else if (!status && code.bytes) {
            codes[i] =
                (struct ig_code){.target = target->name, .bytes = code.bytes, .size = code.size};
        }
    }
    return status;
}

/* One scalar function of the back end's module, and code of that for each of its targets. */
static ingot_status compile_backend(struct igc_kernel *kernel, const struct igc_backend *backend,
                                    const struct igc_command *command, struct ig_text *emitted,
                                    struct ig_variant *variant, struct ig_code *codes) {
    struct igc_reflection reflection = {0};
    kernel->reflection = &reflection;
    kernel->most_unrolled = backend->most_unrolled;
    kernel->has_panels = backend->has_panels;
    kernel->keeps_functions = backend->keeps_functions;
    ingot_status status = igc_scalar_machine(&kernel->machine, kernel->error);
    if (status) {
        return status;
    }
    kernel->builder = LLVMCreateBuilderInContext(kernel->context);
    if (backend->early) {
        status = igc_run_passes(kernel, backend->early);
    }
    if (!status) {
        status = igc_run_passes(kernel, igc_scalar_passes);
    }
    if (!status && !kernel->ended) {
        note_reflection(variant, &reflection);
        status = compile_targets(kernel, backend, command, emitted, variant, codes);
    }
    LLVMDisposeBuilder(kernel->builder);
    LLVMDisposeTargetMachine(kernel->machine);
    if (kernel->unoptimised) {
        LLVMDisposeModule(kernel->unoptimised);
        kernel->unoptimised = NULL;
    }
    return status;
}

static void set_copy(struct igc_kernel *copy, const struct igc_kernel *kernel) {
    size_t length;
    *copy = *kernel;
    igc_kernel_set_module(copy, LLVMCloneModule(kernel->module));
    copy->function =
        LLVMGetNamedFunction(copy->module, LLVMGetValueName2(kernel->function, &length));
}

/* The first back end has the module itself, the others copies of it as it was before. */
static ingot_status compile_backends(struct igc_kernel *kernel, const struct igc_command *command,
                                     struct ig_text *emitted, struct ig_variant *variant,
                                     struct ig_code *codes) {
    size_t first = count_targets(command, igc_backends[0]);
    struct igc_kernel pristine = {0};
    ingot_status status = INGOT_OK;
    if (first < command->target_count) {
        set_copy(&pristine, kernel);
    }
    if (first) {
        status = compile_backend(kernel, igc_backends[0], command, emitted, variant, codes);
    }
    for (size_t b = 1, left = command->target_count - first; left && !status; b++) {
        size_t count = count_targets(command, igc_backends[b]);
        struct igc_kernel copy;
        left -= count;
        if (!count) {
            continue;
        }
        if (left) {
            set_copy(&copy, &pristine);
        }
        status = compile_backend(left ? &copy : &pristine, igc_backends[b], command, emitted,
                                 variant, codes);
        if (left) {
            LLVMDisposeModule(copy.module);
        }
    }
    if (pristine.module) {
        LLVMDisposeModule(pristine.module);
    }
    return status;
}

static enum igc_wanted wanted_by(const struct igc_command *command) {
    return command->no_code                ? IGC_WANT_NO_CODE
           : command->check                ? IGC_WANT_CHECK
           : command->emit == IGC_EMIT_ASM ? IGC_WANT_ASSEMBLY
                                           : IGC_WANT_CODE;
}

ingot_status igc_compile_module(struct ig_arena *arena, LLVMModuleRef module,
                                const struct igc_command *command, const struct igc_job *job,
                                struct ig_text *emitted, struct ig_variant *variant,
                                struct ig_error *error) {
    const struct igc_emission emission = {.pass = command->emit_pass, .text = emitted};
    struct igc_kernel kernel = {
        .arena = arena,
        .name = job->kernel,
        .job = job,
        .sanitize = job->sanitize,
        .wanted = wanted_by(command),
        .emission = emitted && command->emit == IGC_EMIT_PASS ? &emission : NULL,
        .error = error,
    };
    struct ig_code *codes = ig_arena_array(arena, command->target_count, sizeof *codes);
    if (!codes) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for kernel %s", job->kernel);
    }
    *variant = (struct ig_variant){
        .kernel = job->kernel,
        .constants = command->constants_key,
        .code_count = command->check || command->no_code ? 0 : (uint32_t)command->target_count,
        .codes = codes,
    };
    igc_kernel_set_module(&kernel, module);
    ingot_status status = igc_module_find(module, job->kernel, &kernel.function, error);
    if (!status) {
        status = igc_run_passes(&kernel, igc_isolate_passes);
    }
    return status || kernel.ended ? status
                                  : compile_backends(&kernel, command, emitted, variant, codes);
}
