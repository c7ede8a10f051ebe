/*
 * What the host must know about kernels, without making code for them (--describe-only): a file
 * with hundreds of kernels is described in seconds. Requires clang's module with any number of
 * kernels; provides a variant without code for each. Constants without a value are taken as 1.
 *
 * A kernel's arguments are reported at its top (prelude/ingot_parameters.h), so all behind the
 * last of those calls is cut off before anything is inlined. Threadgroup memory is that of the
 * variables which a kernel, or what it calls, names: code generation may find some of them to be
 * of no use.
 *
 * With --emit members, the members of structs behind the arguments are printed instead, a line of
 * numbers and a name each: the argument's index, the member's own ([[id]]), offset, size of an
 * element, elements, ingot_scalar_type, components, ingot_address_space of a pointer or 0.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/map.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"

enum { THREADGROUP_ALIGN = 16 };

struct described {
    LLVMValueRef function; /* NULL: it failed, as `error` says */
    uint64_t threadgroup_bytes;
    struct igc_reflection reflection;
    struct ig_error error;
};

struct description {
    struct ig_arena *arena;
    LLVMModuleRef module;
    const struct igc_batch *batch;
    struct described *kernels; /* one for each of the batch */
    struct igi_map known;      /* a set of functions, which `functions` lists */
    LLVMValueRef *functions;
    size_t function_count;
};

static const char cut_passes[] = "always-inline,globaldce,function(sroa,early-cse,simplifycfg,"
                                 "instcombine<no-verify-fixpoint>)";
static const char branch_passes[] = "function(sroa,early-cse,simplifycfg),globaldce";

static bool in_set(const struct description *d, LLVMValueRef function) {
    return igi_set_has(&d->known, function);
}

static void empty_set(struct description *d) {
    igi_map_start(&d->known, d->arena, 0);
    d->function_count = 0;
}

static void add_function(struct description *d, LLVMValueRef function) {
    if (igi_set_add(&d->known, function)) {
        d->functions[d->function_count++] = function;
    }
}

/* Adds the functions that use `value`, in instructions or through constants, to the set. */
static void add_users(struct description *d, LLVMValueRef value) {
    igi_each_use(use, value) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAInstruction(user)) {
            LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
            add_function(d, f);
        } else if (LLVMIsAConstantExpr(user)) {
            add_users(d, user);
        }
    }
}

/* Adds all functions that use `value` themselves or by calls. */
static void follow_callers(struct description *d, LLVMValueRef value) {
    size_t first = d->function_count;
    add_users(d, value);
    for (size_t i = first; i < d->function_count; i++) {
        add_users(d, d->functions[i]);
    }
}

static uint64_t round_up(uint64_t value, uint64_t align) {
    return (value + align - 1) / align * align;
}

static void add_threadgroup_memory(struct description *d) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(d->module);
    igi_each_global(g, d->module) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != INGOT_SPACE_THREADGROUP) {
            continue;
        }
        empty_set(d);
        follow_callers(d, g);
        uint64_t size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g));
        uint64_t align = LLVMGetAlignment(g);
        align = align < THREADGROUP_ALIGN ? THREADGROUP_ALIGN : align;
        for (size_t i = 0; i < d->batch->count; i++) {
            struct described *k = &d->kernels[i];
            if (k->function && in_set(d, k->function)) {
                k->threadgroup_bytes = round_up(k->threadgroup_bytes, align) + size;
            }
        }
    }
}

/* Takes the instructions from `first` (NULL: none) on out of their block. */
static void erase_from(LLVMBasicBlockRef block, LLVMValueRef first) {
    for (LLVMValueRef in = first ? LLVMGetLastInstruction(block) : NULL, before; in; in = before) {
        before = in == first ? NULL : LLVMGetPreviousInstruction(in);
        if (LLVMGetTypeKind(LLVMTypeOf(in)) != LLVMVoidTypeKind) {
            LLVMReplaceAllUsesWith(in, LLVMGetUndef(LLVMTypeOf(in)));
        }
        LLVMInstructionEraseFromParent(in);
    }
}

/* Ends a kernel after the last call that leads to a report: what follows in clang's order is
 * never reached. The set has all functions that lead there. */
static void cut(const struct description *d, LLVMValueRef kernel, LLVMBuilderRef builder) {
    LLVMValueRef last = NULL;
    igi_each_instruction(in, kernel) {
        LLVMValueRef callee = LLVMIsACallInst(in) ? LLVMGetCalledValue(in) : NULL;
        last = callee && in_set(d, callee) ? in : last;
    }
    LLVMBasicBlockRef block =
        last ? LLVMGetInstructionParent(last) : LLVMGetEntryBasicBlock(kernel);
    erase_from(block, last ? LLVMGetNextInstruction(last) : LLVMGetFirstInstruction(block));
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMBuildRetVoid(builder);
    while ((block = igi_next_block(block))) {
        erase_from(block, LLVMGetFirstInstruction(block));
        LLVMPositionBuilderAtEnd(builder, block);
        LLVMBuildUnreachable(builder);
    }
}

/* The first of the names of one function. */
static struct described *first_name(const struct description *d, size_t position) {
    size_t i = 0;
    while (d->kernels[i].function != d->kernels[position].function) {
        i++;
    }
    return &d->kernels[i];
}

static void cut_all(struct description *d) {
    empty_set(d);
    for (unsigned i = 0; i < IGI_BUILTIN_COUNT; i++) {
        enum igi_builtin builtin = (enum igi_builtin)i;
        bool is_read = igi_facts(builtin)->handled == IGI_HANDLED_READ;
        LLVMValueRef report = is_read ? igi_find(d->module, builtin) : NULL;
        if (report) {
            follow_callers(d, report);
            add_function(d, report);
        }
    }
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(d->module));
    for (size_t i = 0; i < d->batch->count; i++) {
        if (d->kernels[i].function && first_name(d, i) == &d->kernels[i]) {
            cut(d, d->kernels[i].function, builder);
        }
    }
    LLVMDisposeBuilder(builder);
    igc_mark_for_inlining(d->module, NULL);
}

static ingot_status find_kernels(struct description *d, const struct igc_job *job,
                                 struct ig_error *error) {
    for (size_t i = 0; i < d->batch->count; i++) {
        struct described *k = &d->kernels[i];
        struct igc_job own = *job;
        own.kernel = d->batch->kernels[i];
        LLVMValueRef function = NULL;
        ingot_status status = igc_module_find(d->module, own.kernel, &function, &k->error);
        if (!status) {
            status = igc_check_calls(d->module, function, &own, &k->error);
        }
        k->function = status ? NULL : function;
    }
    igc_module_isolate(d->module, NULL);
    for (size_t i = 0; i < d->batch->count; i++) {
        if (d->kernels[i].function) {
            LLVMSetLinkage(d->kernels[i].function, LLVMExternalLinkage);
        }
    }
    return igc_specialise(d->module, NULL, job, error);
}

static void reflect(const struct description *d, size_t position) {
    struct described *k = &d->kernels[position], *first = first_name(d, position);
    if (first < k) {
        k->reflection = first->reflection;
    } else if (k->function) {
        const struct igc_job job =
            igc_job_of(d->batch->command, d->batch->source, d->batch->kernels[position]);
        igc_reflect(d->arena, k->function, &job, &k->reflection, &k->error);
    }
}

static void print_members(const struct igc_reflection *r, struct ig_text *out) {
    for (uint32_t i = 0; i < r->member_count; i++) {
        const struct igc_member *m = &r->members[i];
        ig_text_printf(out, "%u %u %llu %llu %u %u %u %u %s\n", r->arguments[m->argument].index,
                       m->id, (unsigned long long)m->offset, (unsigned long long)m->size, m->count,
                       m->scalar, m->components, m->space, m->name);
    }
}

static void report(const struct description *d, size_t position, const struct ig_error *error,
                   const char *warnings) {
    const struct igc_batch *batch = d->batch;
    const struct described *k = &d->kernels[position];
    uint32_t bytes = (uint32_t)round_up(k->threadgroup_bytes, THREADGROUP_ALIGN);
    const struct ig_variant variant = {.kernel = batch->kernels[position],
                                       .constants = batch->command->constants_key,
                                       .static_threadgroup_bytes = bytes,
                                       .max_threads = k->reflection.max_threads,
                                       .argument_count = k->reflection.argument_count,
                                       .arguments = k->reflection.arguments};
    error = k->error.status ? &k->error : error->status ? error : NULL;
    if (batch->emitted && !error) {
        print_members(&k->reflection, batch->emitted);
    }
    batch->done(batch->context, batch->first + position, error ? NULL : &variant, warnings, error);
}

static ingot_status describe(struct description *d, struct ig_error *error) {
    const struct igc_batch *batch = d->batch;
    size_t functions = 0;
    igi_each_function(f, d->module) {
        functions++;
    }
    d->functions = ig_arena_array(d->arena, functions + 1, sizeof *d->functions);
    if (!d->functions) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu functions", functions);
    }
    struct igc_job job = igc_job_of(batch->command, batch->source, NULL);
    job.fill_constants = true;
    ingot_status status = find_kernels(d, &job, error);
    if (!status && batch->source->constant_count) { /* which may decide what is reached */
        status = igc_stage(d->module, NULL, "branches", branch_passes, error);
    }
    if (!status) {
        add_threadgroup_memory(d);
        cut_all(d);
        status = d->known.failed
                     ? ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %zu functions", functions)
                     : igc_stage(d->module, NULL, "cut", cut_passes, error);
    }
    for (size_t i = 0; !status && i < batch->count; i++) {
        reflect(d, i);
    }
    return status;
}

void igc_describe_batch(struct ig_arena *arena, const struct igc_batch *batch, const void *bitcode,
                        size_t size, const char *warnings) {
    struct description d = {
        .arena = arena,
        .batch = batch,
        .kernels = ig_arena_array(arena, batch->count, sizeof *d.kernels),
    };
    struct ig_error error = {0};
    LLVMContextRef context = LLVMContextCreate();
    if (!d.kernels) {
        ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for %zu kernels", batch->count);
        for (size_t i = 0; i < batch->count; i++) {
            batch->done(batch->context, batch->first + i, NULL, warnings, &error);
        }
    } else {
        if (!igc_module_parse(context, bitcode, size, &d.module, &error)) {
            describe(&d, &error);
            LLVMDisposeModule(d.module);
        }
        for (size_t i = 0; i < batch->count; i++) {
            report(&d, i, &error, warnings);
            ig_error_clear(&d.kernels[i].error);
        }
    }
    LLVMContextDispose(context);
    ig_error_clear(&error);
}
