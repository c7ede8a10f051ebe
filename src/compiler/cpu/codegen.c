/*
 * From a scalar kernel to a CPU's code: one function per variant of the position built-ins and
 * kind of mask, the functions around them, cleanup passes, object code. Requires an optimised
 * kernel without reflection calls; uses the module up. Does not link.
 */
#include <ctype.h>
#include <string.h>

#include "compiler/analysis/analysis.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/walk.h"

enum {
    LARGE_KERNEL = 1500,      /* instructions: above, as few variants as possible */
    HUGE_KERNEL = 2000,       /* above, only one version if one will do */
    GIANT_KERNEL = 10000,     /* above, also where the second would save masks */
    SMALL_KERNEL = 500,       /* below, also a full-mask version of the general variant */
    STACK_MARGIN = 16 * 1024, /* call frames, spills of addresses, the services' own frames */
    MAX_SPILLS = 256 * 1024,
    MOST_OPERATIONS = 4, /* to a memory access, of a kernel that memory holds up */
    MANY_BLOCKS = 5000,  /* the library's kernels have up to 3,300 */
};

#define SIMPLIFYCFG "simplifycfg<no-hoist-common-insts;no-sink-common-insts;no-switch-to-lookup>"

static const char cleanup_bit_masks[] =
    "function(sroa<preserve-cfg>),always-inline,globaldce,"
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>," SIMPLIFYCFG
    ",loop-mssa(licm),early-cse<memssa>,adce),globaldce,strip-dead-prototypes";

/* Where masks are sign masks in vectors, instcombine must not see their phis: it would turn them
 * back into vectors of bits, which AVX2 has no registers for. So it runs while they are still in
 * stack slots, and not afterwards. */
static const char cleanup_sign_masks[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,sroa<preserve-cfg>),"
    "always-inline,globaldce,"
    "function(early-cse<memssa>,instsimplify," SIMPLIFYCFG
    ",loop-mssa(licm),early-cse<memssa>,instsimplify,adce),globaldce,strip-dead-prototypes";

/* Before the cleanup of kernels with many blocks: sroa goes through all of them for each slot that
 * is used in more than one, and most only follow each other. */
static const char join_blocks[] = "function(" SIMPLIFYCFG ")";

/* What decides which versions are worth making. */
struct shape {
    unsigned instructions;
    bool positions[3]; /* a thread position in this dimension is used */
    bool grid_only;    /* nothing tells which threadgroup and SIMD-group a thread is in */
    bool has_loops, narrow_accesses; /* narrow: of elements of less than 32 bits */
    bool says_streaming;             /* by __ingot_streaming */
    unsigned accesses, operations;   /* loads and stores; what computes */
};

bool igc_is_grid_builtin(const char *name) {
    static const char *const names[] = {
        "__ingot_arg_device",
        "__ingot_arg_constant",
        "__ingot_thread_position_in_grid",
        "__ingot_threads_per_grid",
        "__ingot_threadgroups_per_grid",
        "__ingot_dispatch_threads_per_threadgroup",
        "__ingot_dispatch_simdgroups_per_threadgroup",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* What a kernel that runs by rows may call. Positions by a dimension that is not constant are
 * left to the other variants. */
static bool fits_rows(LLVMValueRef call, const char *name) {
    if (!strcmp(name, "__ingot_thread_position_in_grid")) {
        return LLVMIsAConstantInt(LLVMGetOperand(call, 0)) != NULL;
    }
    return igc_is_grid_builtin(name) || !strncmp(name, "llvm.", 5) ||
           !strcmp(name, "__ingot_streaming") || !strcmp(name, "__ingot_too_deep") ||
           !strcmp(name, "__ingot_never");
}

/* Counts an instruction as access or operation; addresses and control are neither. */
static void weigh(struct shape *shape, LLVMValueRef in) {
    LLVMTypeRef type = LLVMTypeOf(in);
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMStore:
        type = LLVMTypeOf(LLVMGetOperand(in, 0));
        /* fall through */
    case LLVMLoad:
        shape->accesses++;
        shape->narrow_accesses |=
            LLVMGetTypeKind(type) == LLVMHalfTypeKind ||
            LLVMGetTypeKind(type) == LLVMBFloatTypeKind ||
            (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 32);
        break;
    case LLVMPHI:
        shape->has_loops = true; /* or joins, which are as good a reason */
        break;
    case LLVMGetElementPtr:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMBr:
    case LLVMRet:
        break;
    default:
        shape->operations += !LLVMIsACallInst(in) || !LLVMIsAFunction(LLVMGetCalledValue(in)) ||
                             LLVMGetIntrinsicID(LLVMGetCalledValue(in)) != 0;
        break;
    }
}

/* Time goes to memory accesses, one after the other. */
static bool is_streaming(const struct shape *shape) {
    if (shape->says_streaming) {
        return true;
    }
    return shape->grid_only && !shape->has_loops && !shape->narrow_accesses &&
           shape->operations <= 2 * shape->accesses;
}

static struct shape measure(LLVMValueRef kernel) {
    struct shape shape = {.grid_only = true};
    igi_each_instruction(in, kernel) {
        shape.instructions++;
        weigh(&shape, in);
        if (!LLVMIsACallInst(in)) {
            continue;
        }
        size_t length;
        LLVMValueRef callee = LLVMGetCalledValue(in);
        const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "";
        shape.grid_only &= fits_rows(in, name);
        shape.says_streaming |= !strcmp(name, "__ingot_streaming");
        if (strcmp(name, "__ingot_thread_position_in_grid") &&
            strcmp(name, "__ingot_thread_position_in_threadgroup")) {
            continue;
        }
        LLVMValueRef dim = LLVMGetOperand(in, 0);
        for (unsigned d = 0; d < 3; d++) {
            shape.positions[d] |= !LLVMIsAConstantInt(dim) || LLVMConstIntGetZExtValue(dim) == d;
        }
    }
    return shape;
}

struct versions {
    struct ig_arena *arena;
    const char *kernel_name;
    const struct igc_reflection *reflection;
    struct igv_request request;
    struct igc_entry entries[INGOT_CPU_IDS_COUNT];
    struct igc_lines lines;
    uint32_t flags; /* of ingot_cpu_kernel */
    bool has_bounds;
    uint32_t stack_bytes;
    struct ig_error *error;
};

static ingot_status add_version(struct versions *v, enum ingot_cpu_ids ids, bool full) {
    static const char *const names[] = {"aligned", "linear", "general", "row"};
    struct igv_result result = {0};
    v->request.ids = ids;
    v->request.full_mask = full;
    v->request.may_decline = full && v->has_bounds && ids == INGOT_CPU_IDS_ROW;
    char *name =
        ig_arena_printf(v->arena, "%s_%s_%s", v->kernel_name, names[ids], full ? "full" : "any");
    if (!name) {
        return ig_fail(v->error, INGOT_OUT_OF_MEMORY, "no memory for a function's name");
    }
    for (char *p = name; *p; p++) {
        *p = isalnum((unsigned char)*p) ? *p : '_';
    }
    v->request.name = name;
    v->request.description = igc_lines_describe(&v->lines, v->kernel_name, name);
    ingot_status status = igv_vectorise(v->arena, &v->request, &result, v->error);
    if (status) {
        return status;
    }
    igc_set_target_attributes(result.function, v->request.target);
    LLVMSetLinkage(result.function, LLVMInternalLinkage);
    *(full ? &v->entries[ids].full : &v->entries[ids].any) = result.function;
    v->entries[ids].full_may_decline |= v->request.may_decline;
    v->flags |= (result.has_barriers ? INGOT_CPU_KERNEL_BARRIERS : 0) |
                (result.streams ? INGOT_CPU_KERNEL_NONTEMPORAL : 0);
    v->stack_bytes = v->stack_bytes > result.stack_bytes ? v->stack_bytes : result.stack_bytes;
    return INGOT_OK;
}

/* Rows of the grid, where threadgroups do not matter. They serve every launch; but groups that
 * are narrow in x, one beside the other in y only, waste lanes, so kernels of more than one
 * dimension have the general variant as well. Giant kernels have masks throughout: these cost
 * little beside the arithmetic, and a second version takes as long to compile as the first. */
static ingot_status add_row_versions(struct versions *v, const struct shape *shape) {
    ingot_status status = INGOT_OK;
    if (shape->operations <= MOST_OPERATIONS * shape->accesses) {
        status = igc_find_streams(v->arena, &v->request, &v->flags, v->error);
    }
    if (status) {
        return status;
    }
    if (shape->instructions <= GIANT_KERNEL) {
        v->has_bounds = igc_mark_bounds(v->request.module, v->request.kernel);
        status = add_version(v, INGOT_CPU_IDS_ROW, true);
    }
    return status ? status : add_version(v, INGOT_CPU_IDS_ROW, false);
}

/* Full SIMD-groups are the usual case, but code for them is extra; the aligned variant knows
 * only full ones. A kernel that uses no position needs one variant for all. */
static ingot_status add_versions(struct versions *v, const struct shape *shape) {
    const bool large = shape->instructions > LARGE_KERNEL;
    const bool y_or_z = shape->positions[1] || shape->positions[2];
    ingot_status status = INGOT_OK;
    if (!shape->positions[0] && !y_or_z) {
        bool huge = shape->instructions > HUGE_KERNEL;
        status = huge ? INGOT_OK : add_version(v, INGOT_CPU_IDS_ALIGNED, true);
        if (!status) {
            status = add_version(v, INGOT_CPU_IDS_ALIGNED, false);
        }
        v->entries[INGOT_CPU_IDS_LINEAR] = v->entries[INGOT_CPU_IDS_ALIGNED];
        v->entries[INGOT_CPU_IDS_GENERAL] = v->entries[INGOT_CPU_IDS_ALIGNED];
        return status;
    }
    if (shape->grid_only && (!y_or_z || !large)) {
        status = add_row_versions(v, shape);
        return status || !y_or_z ? status : add_version(v, INGOT_CPU_IDS_GENERAL, false);
    }
    status = add_version(v, INGOT_CPU_IDS_ALIGNED, true);
    if (!status && !y_or_z && !large) {
        status = add_version(v, INGOT_CPU_IDS_LINEAR, true);
        if (!status) {
            status = add_version(v, INGOT_CPU_IDS_LINEAR, false);
        }
    }
    if (!status && y_or_z && shape->instructions <= SMALL_KERNEL) {
        status = add_version(v, INGOT_CPU_IDS_GENERAL, true);
    }
    return status ? status : add_version(v, INGOT_CPU_IDS_GENERAL, false);
}

/* An upper bound of a frame: what is still in memory, and every vector spilled. */
static uint32_t stack_bound(LLVMModuleRef module) {
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    uint64_t most = 0;
    igi_each_function(f, module) {
        uint64_t arrays = 0, spills = 0;
        igi_each_instruction(in, f) {
            if (LLVMIsAAllocaInst(in)) {
                arrays += LLVMABISizeOfType(layout, LLVMGetAllocatedType(in)) + 64;
            } else if (LLVMGetTypeKind(LLVMTypeOf(in)) == LLVMVectorTypeKind) {
                spills += 64;
            }
        }
        arrays += spills < MAX_SPILLS ? spills : MAX_SPILLS;
        most = most > arrays ? most : arrays;
    }
    most += STACK_MARGIN;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static ingot_status clean_up(LLVMModuleRef module, LLVMTargetMachineRef machine, bool bit_masks,
                             struct ig_error *error) {
    ingot_status status = INGOT_OK;
    unsigned blocks = 0;
    igi_each_function(f, module) {
        blocks += LLVMCountBasicBlocks(f);
    }
    if (blocks > MANY_BLOCKS) {
        status = igc_stage(module, machine, "join", join_blocks, error);
    }
    return status ? status
                  : igc_stage(module, machine, "cleanup",
                              bit_masks ? cleanup_bit_masks : cleanup_sign_masks, error);
}

static void set_stack_bytes(LLVMModuleRef module, uint32_t bytes) {
    LLVMValueRef global = LLVMGetNamedGlobal(module, INGOT_CPU_KERNEL_SYMBOL);
    LLVMValueRef old = LLVMGetInitializer(global), fields[7];
    LLVMContextRef context = LLVMGetModuleContext(module);
    for (unsigned i = 0; i < 7; i++) {
        fields[i] = LLVMGetAggregateElement(old, i);
    }
    fields[3] = LLVMConstInt(LLVMInt32TypeInContext(context), bytes, false);
    LLVMSetInitializer(global, LLVMConstStructInContext(context, fields, 7, false));
}

static ingot_status emit(LLVMModuleRef module, LLVMTargetMachineRef machine, bool assembly,
                         LLVMMemoryBufferRef *out, struct ig_error *error) {
    double start = igc_time_now();
    ingot_status status = igc_emit_guarded(module, machine, NULL, assembly, out, error);
    igc_time_add("machine code", igc_time_now() - start);
    return status;
}

static ingot_status vectorise(struct versions *v, struct igc_code *code,
                              const struct igc_job *job) {
    struct igv_request *r = &v->request;
    double start = igc_time_now();
    ingot_status status =
        igv_prepare(r->module, r->kernel, r->machine, &code->static_threadgroup_bytes, v->error);
    igc_time_add("prepare", igc_time_now() - start);
    if (!status) {
        status = igc_stage(r->module, r->machine, "prepared", NULL, v->error);
    }
    if (status) {
        return status;
    }
    if (job->emitted && job->command->emit == IGC_EMIT_PREPARED) {
        igc_print_module(r->module, job->emitted);
    }
    if (job->emitted && job->command->emit == IGC_EMIT_SHAPES) {
        struct igv_analysis analysis;
        r->full_mask = true;
        status = igv_analyse(v->arena, r, &analysis, v->error);
        if (status) {
            return status;
        }
        igv_analysis_print(&analysis, job->emitted);
    }
    struct shape shape = measure(r->kernel);
    shape.grid_only &= code->static_threadgroup_bytes == 0;
    if (is_streaming(&shape)) {
        r->target = igc_target_streaming(r->target);
    }
    start = igc_time_now();
    igc_lines_start(&v->lines, r->module, r->kernel);
    status = add_versions(v, &shape);
    if (shape.says_streaming && !v->entries[INGOT_CPU_IDS_ROW].any) {
        v->flags |= INGOT_CPU_KERNEL_MEMORY_BOUND;
    }
    igc_time_add("vectorise", igc_time_now() - start);
    if (status) {
        return status;
    }
    LLVMReplaceAllUsesWith(r->kernel, LLVMGetPoison(LLVMTypeOf(r->kernel)));
    LLVMDeleteFunction(r->kernel);
    r->kernel = NULL;
    igc_add_facts(r->module, v->reflection);
    igc_build_entries(r->module, v->entries, v->flags, code->static_threadgroup_bytes,
                      v->stack_bytes, r->target);
    igc_lines_finish(&v->lines, r->module);
    if (job->emitted && job->command->emit == IGC_EMIT_VECTORISED) {
        igc_print_module(r->module, job->emitted);
    }
    status = igc_stage(r->module, r->machine, "vectorised", NULL, v->error);
    return status ? status : igv_lower_tiles(r->module, r->machine, r->target, v->error);
}

ingot_status igc_codegen(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                         const struct igv_target *target, const struct igc_job *job,
                         const struct igc_reflection *reflection, struct igc_code *code,
                         struct ig_error *error) {
    *code = (struct igc_code){0};
    struct versions v = {
        .arena = arena,
        .kernel_name = job->kernel,
        .reflection = reflection,
        .request = {.module = module,
                    .kernel = kernel,
                    .target = target,
                    .buffer_slots = reflection->buffer_slots,
                    .threadgroup_slots = reflection->threadgroup_slots},
        .error = error,
    };
    ingot_status status = igc_machine_create(target, &v.request.machine, error);
    if (status) {
        return status;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(v.request.machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    char *triple = LLVMGetTargetMachineTriple(v.request.machine);
    LLVMSetTarget(module, triple);
    LLVMDisposeMessage(triple);
    if (!target->is_x86) {
        igc_forget_cpu(module);
    }
    status = vectorise(&v, code, job);
    igc_lines_free(&v.lines);
    const bool goes_on = !status && !job->command->no_code;
    if (goes_on) {
        status = clean_up(module, v.request.machine, target->bit_masks, error);
    }
    if (goes_on && !status) {
        if (target->is_x86) {
            igc_promote_half(module);
        } else {
            igc_unmask_memory(module);
        }
        set_stack_bytes(module, stack_bound(module));
        if (job->emitted && job->command->emit == IGC_EMIT_OPTIMISED) {
            igc_print_module(module, job->emitted);
        }
        status = emit(module, v.request.machine, job->command->emit == IGC_EMIT_ASM, &code->object,
                      error);
    }
    LLVMDisposeTargetMachine(v.request.machine);
    return status;
}
