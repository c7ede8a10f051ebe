/*
 * Warnings of kernels that are beyond what Apple's GPUs have: indices of arguments, threads of a
 * threadgroup, threadgroup memory. Requires the optimised module of one kernel, whose variables in
 * threadgroup memory are those that it uses.
 */
#include <inttypes.h>
#include <string.h>

#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

enum { APPLE_ARGUMENTS = 31, APPLE_THREADS = 1024, APPLE_THREADGROUP_BYTES = 32768 };

static void check_arguments(const struct igc_job *job, const struct igc_reflection *r,
                            struct ig_text *out) {
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const struct ig_argument *a = &r->arguments[i];
        if (a->index >= APPLE_ARGUMENTS) {
            igc_source_warn(job->source, job->kernel, a->name, out,
                            "%s of kernel \"%s\" has %s index %u; Apple's compiler takes 0 to %d",
                            a->name, job->kernel,
                            a->kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "threadgroup", a->index,
                            APPLE_ARGUMENTS - 1);
        }
    }
}

static void check_threads(const struct igc_job *job, const struct igc_reflection *r,
                          struct ig_text *out) {
    if (r->asks_threads && (!r->asked_threads || r->asked_threads > APPLE_THREADS)) {
        igc_source_warn(job->source, job->kernel, NULL, out,
                        "kernel \"%s\" has [[max_total_threads_per_threadgroup(%" PRId64
                        ")]]; a threadgroup has 1 to %d threads, and %u are taken",
                        job->kernel, (int64_t)r->asked_threads, APPLE_THREADS, r->max_threads);
    }
}

/* "_ZZ1kE4tile" and "_ZZ1kE4tile.1" → "tile" */
static void print_variable(const char *symbol, uint64_t bytes, struct ig_text *out) {
    size_t name_size;
    const char *name = igc_plain_name(symbol, &name_size);
    ig_text_printf(out, "%s%.*s: %" PRIu64, out->size ? ", " : "", (int)name_size, name, bytes);
}

static void check_threadgroup_memory(LLVMModuleRef module, const struct igc_job *job,
                                     struct ig_text *out) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    struct ig_text list = {0};
    uint64_t sum = 0;
    igi_each_global(g, module) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != INGOT_SPACE_THREADGROUP ||
            !LLVMGetFirstUse(g)) {
            continue;
        }
        size_t length;
        uint64_t size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g));
        print_variable(LLVMGetValueName2(g, &length), size, &list);
        sum += size;
    }
    if (sum > APPLE_THREADGROUP_BYTES) {
        igc_source_warn(job->source, job->kernel, NULL, out,
                        "kernel \"%s\" has %" PRIu64 " bytes of threadgroup memory (%s); Apple's "
                        "GPUs have %d, and devices here as well unless told otherwise",
                        job->kernel, sum, ig_text_string(&list), APPLE_THREADGROUP_BYTES);
    }
    ig_text_free(&list);
}

void igc_warn_limits(LLVMModuleRef module, const struct igc_job *job,
                     const struct igc_reflection *reflection) {
    struct ig_text text = {0};
    if (!job->warnings) {
        return;
    }
    check_arguments(job, reflection, &text);
    check_threads(job, reflection, &text);
    check_threadgroup_memory(module, job, &text);
    /* CPUs and GPUs have modules of their own */
    if (text.size && !strstr(ig_text_string(job->warnings), ig_text_string(&text))) {
        ig_text_puts(job->warnings, ig_text_string(&text));
    }
    ig_text_free(&text);
}
