/*
 * Which versions of a prepared kernel are worth making, and the making of them: one function per
 * variant of the position built-ins and kind of mask. Requires what the vectoriser requires;
 * provides the functions in igv_facts.entries, and takes the scalar kernel out of the module.
 */
#include <ctype.h>
#include <string.h>

#include "compiler/cpu/cpu.h"
#include "compiler/ir/builtins.h"
#include "compiler/ir/walk.h"

enum {
    LARGE_KERNEL = 1500, /* instructions: above, as few variants as possible */
    HUGE_KERNEL = 2000,  /* above, only one version if one will do */
    GIANT_KERNEL = 8000, /* above, also where the second would save masks */
    SMALL_KERNEL = 500,  /* below, also a full-mask version of the general variant */
    MOST_OPERATIONS = 4, /* to a memory access, of a kernel that memory holds up */
};

/* What a kernel that runs by rows may call. Positions by a dimension that is not constant are
 * left to the other variants. */
static bool fits_rows(LLVMValueRef call) {
    if (igi_is_call_of(call, IGI_thread_position_in_grid)) {
        return LLVMIsAConstantInt(LLVMGetOperand(call, 0)) != NULL;
    }
    return igi_is_intrinsic(call) || igi_facts_of(call)->flags & IGI_GRID;
}

/* Counts an instruction as access or operation; addresses and control are neither. */
static void weigh(struct igv_kernel_shape *shape, LLVMValueRef in) {
    switch (LLVMGetInstructionOpcode(in)) {
    case LLVMStore:
    case LLVMLoad:
        shape->accesses++;
        break;
    case LLVMPHI:
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

/* Does some arithmetic on a position in the grid gain by its being aligned (x & 31, x / 32)? */
static bool gains_by_alignment(LLVMValueRef position) {
    igi_each_use(use, position) {
        switch (LLVMGetInstructionOpcode(LLVMGetUser(use))) {
        case LLVMAnd:
        case LLVMOr:
        case LLVMXor:
        case LLVMLShr:
        case LLVMAShr:
        case LLVMUDiv:
        case LLVMSDiv:
        case LLVMURem:
        case LLVMSRem:
        case LLVMTrunc:
            return true;
        default:
            break;
        }
    }
    return false;
}

static struct igv_kernel_shape measure(LLVMValueRef kernel) {
    struct igv_kernel_shape shape = {.grid_only = true, .lanes_alone = true};
    igi_each_instruction(in, kernel) {
        shape.instructions++;
        weigh(&shape, in);
        shape.lanes_alone &= !LLVMIsAAtomicRMWInst(in) && !LLVMIsAAtomicCmpXchgInst(in);
        if (!LLVMIsACallInst(in)) {
            continue;
        }
        shape.lanes_alone &= igi_is_intrinsic(in) || igi_facts_of(in)->flags & IGI_PURE ||
                             igi_family_of(in) == IGI_FAMILY_KEPT;
        enum igi_builtin builtin = igi_builtin_of(in);
        shape.grid_only &= fits_rows(in);
        shape.says_streaming |= builtin == IGI_streaming;
        shape.aligned_grid |= builtin == IGI_thread_position_in_grid && gains_by_alignment(in);
        if (builtin != IGI_thread_position_in_grid &&
            builtin != IGI_thread_position_in_threadgroup) {
            continue;
        }
        LLVMValueRef dim = LLVMGetOperand(in, 0);
        for (unsigned d = 0; d < 3; d++) {
            shape.positions[d] |= !LLVMIsAConstantInt(dim) || LLVMConstIntGetZExtValue(dim) == d;
        }
    }
    return shape;
}

/* Where no code is wanted, one version is enough to find what is wrong: the least that is known. */
static bool is_wanted(const struct igc_kernel *kernel, enum ingot_cpu_ids ids, bool full) {
    return kernel->wanted != IGC_WANT_NO_CODE || (!full && ids != INGOT_CPU_IDS_LINEAR);
}

static ingot_status add_version(struct igc_kernel *kernel, enum ingot_cpu_ids ids, bool full) {
    struct igv_facts *v = igv_facts(kernel);
    if (!is_wanted(kernel, ids, full)) {
        return INGOT_OK;
    }
    static const char *const names[] = {"aligned", "linear", "general", "row"};
    struct igv_result result = {0};
    v->request.ids = ids;
    v->request.full_mask = full;
    v->request.may_decline = full && v->has_bounds && ids == INGOT_CPU_IDS_ROW;
    char *name =
        ig_arena_printf(kernel->arena, "%s_%s_%s", kernel->name, names[ids], full ? "full" : "any");
    if (!name) {
        return ig_fail(kernel->error, INGOT_OUT_OF_MEMORY, "no memory for a function's name");
    }
    for (char *p = name; *p; p++) {
        *p = isalnum((unsigned char)*p) ? *p : '_';
    }
    v->request.name = name;
    v->request.description = igc_lines_describe(&v->lines, kernel->name, name);
    ingot_status status = igv_make_kept(kernel);
    if (!status) {
        status = igv_vectorise(kernel->arena, &v->request, &result, kernel->error);
    }
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

static ingot_status add_turns(struct igc_kernel *kernel) {
    struct igv_facts *v = igv_facts(kernel);
    const struct igv_target *whole = v->request.target;
    v->request.target = igv_target_in_turns(whole);
    ingot_status status = add_version(kernel, INGOT_CPU_IDS_ROW, false);
    if (!status) {
        LLVMValueRef *any = &v->entries[INGOT_CPU_IDS_ROW].any;
        *any = igv_run_in_turns(*any, "in_turns", v->request.target);
    }
    v->request.target = whole;
    return status;
}

/* Rows of the grid, where threadgroups do not matter. They serve every launch; but groups that
 * are narrow in x, one beside the other in y only, waste lanes, so kernels of more than one
 * dimension have the general variant as well. Giant kernels have masks throughout: these cost
 * little beside the arithmetic, and a second version takes as long to compile as the first. Where
 * no lane has to do with another, a SIMD-group goes through them in turns: that is half of the code
 * or less, and fewer values want registers at a time. */
static ingot_status add_row_versions(struct igc_kernel *kernel) {
    struct igv_facts *v = igv_facts(kernel);
    const struct igv_kernel_shape *shape = &v->shape;
    ingot_status status = INGOT_OK;
    if (shape->operations <= MOST_OPERATIONS * shape->accesses) {
        status = igc_find_streams(kernel->arena, &v->request, &v->flags, kernel->error);
    }
    if (status) {
        return status;
    }
    if (!shape->is_giant) {
        v->has_bounds = igc_mark_bounds(v->request.module, v->request.kernel);
        status = add_version(kernel, INGOT_CPU_IDS_ROW, true);
    }
    if (shape->is_giant && shape->lanes_alone) {
        return add_turns(kernel);
    }
    return status ? status : add_version(kernel, INGOT_CPU_IDS_ROW, false);
}

/* Groups of one row. Those that are aligned run the same code, unless the aligned variant is there.
 */
static ingot_status add_linear_versions(struct igc_kernel *kernel) {
    struct igv_facts *v = igv_facts(kernel);
    ingot_status status = add_version(kernel, INGOT_CPU_IDS_LINEAR, true);
    if (!status) {
        status = add_version(kernel, INGOT_CPU_IDS_LINEAR, false);
    }
    if (!v->shape.aligned_grid) {
        v->entries[INGOT_CPU_IDS_ALIGNED] = v->entries[INGOT_CPU_IDS_LINEAR];
    }
    return status;
}

/* Full SIMD-groups are the usual case, but code for them is extra; the aligned variant knows
 * only full ones. A kernel that uses no position needs one variant for all; a huge one has it
 * without masks if it promises whole SIMD-groups. */
static ingot_status add_versions(struct igc_kernel *kernel) {
    struct igv_facts *v = igv_facts(kernel);
    const struct igv_kernel_shape *shape = &v->shape;
    const bool large = shape->is_giant || shape->instructions > LARGE_KERNEL;
    const bool y_or_z = shape->positions[1] || shape->positions[2];
    ingot_status status = INGOT_OK;
    if (!shape->positions[0] && !y_or_z) {
        bool huge = shape->is_giant || shape->instructions > HUGE_KERNEL;
        bool only_full = huge && kernel->reflection->whole_simdgroups && !kernel->sanitize &&
                         is_wanted(kernel, INGOT_CPU_IDS_ALIGNED, true);
        bool only_any = huge && !only_full;
        status = only_any ? INGOT_OK : add_version(kernel, INGOT_CPU_IDS_ALIGNED, true);
        if (!status && !only_full) {
            status = add_version(kernel, INGOT_CPU_IDS_ALIGNED, false);
        }
        if (only_full) {
            v->entries[INGOT_CPU_IDS_ALIGNED].any = v->entries[INGOT_CPU_IDS_ALIGNED].full;
        }
        v->entries[INGOT_CPU_IDS_LINEAR] = v->entries[INGOT_CPU_IDS_ALIGNED];
        v->entries[INGOT_CPU_IDS_GENERAL] = v->entries[INGOT_CPU_IDS_ALIGNED];
        return status;
    }
    if (shape->grid_only && (!y_or_z || !large)) {
        status = add_row_versions(kernel);
        return status || !y_or_z ? status : add_version(kernel, INGOT_CPU_IDS_GENERAL, false);
    }
    if (shape->is_giant) {
        return add_version(kernel, INGOT_CPU_IDS_GENERAL, false);
    }
    const bool linear = !y_or_z && !large;
    if (!linear || shape->aligned_grid) {
        status = add_version(kernel, INGOT_CPU_IDS_ALIGNED, true);
    }
    if (!status && linear) {
        status = add_linear_versions(kernel);
    }
    if (!status && y_or_z && shape->instructions <= SMALL_KERNEL) {
        status = add_version(kernel, INGOT_CPU_IDS_GENERAL, true);
    }
    return status ? status : add_version(kernel, INGOT_CPU_IDS_GENERAL, false);
}

enum igc_result igv_choose_versions(struct igc_kernel *kernel) {
    struct igv_facts *facts = igv_facts(kernel);
    const struct igv_target *target = (const struct igv_target *)kernel->target;
    facts->shape = measure(kernel->function);
    facts->shape.instructions += igv_measure_kept(kernel);
    /* where functions stay, the kernel would have been one */
    facts->shape.is_giant = facts->kept.words || facts->shape.instructions > GIANT_KERNEL;
    igc_work_add("choose-versions", facts->shape.instructions); /* the size of the kernel */
    /* checks name threads by their threadgroups */
    facts->shape.grid_only &= kernel->threadgroup_bytes == 0 && !kernel->sanitize;
    facts->flags |= kernel->sanitize ? INGOT_CPU_KERNEL_SANITIZED : 0;
    facts->request = (struct igv_request){
        .module = kernel->module,
        .kernel = kernel->function,
        .machine = kernel->machine,
        .target = facts->shape.says_streaming ? igv_target_streaming(target) : target,
        .buffer_slots = kernel->reflection->buffer_slots,
        .threadgroup_slots = kernel->reflection->threadgroup_slots,
    };
    return IGC_UNCHANGED;
}

enum igc_result igv_make_versions(struct igc_kernel *kernel) {
    struct igv_facts *facts = igv_facts(kernel);
    igc_lines_start(&facts->lines, kernel->module, kernel->function);
    if (add_versions(kernel)) {
        return IGC_FAILED;
    }
    if (facts->shape.says_streaming && !facts->entries[INGOT_CPU_IDS_ROW].any) {
        facts->flags |= INGOT_CPU_KERNEL_MEMORY_BOUND;
    }
    LLVMReplaceAllUsesWith(kernel->function, LLVMGetPoison(LLVMTypeOf(kernel->function)));
    LLVMDeleteFunction(kernel->function);
    kernel->function = NULL;
    igv_drop_kept(kernel);
    facts->request.kernel = NULL;
    return IGC_CHANGED;
}
