/*
 * The way of a kernel to a CPU's code, from top to bottom: the scalar kernel that every back end
 * starts from (middle/passes.c) is prepared, vectorised, and cleaned up. Machine code and the
 * shared object are made afterwards (targets.c).
 */
#include "compiler/analysis/analysis.h"
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/prepare/prepare.h"
#include "compiler/cpu/vectorise/emit.h"
#include "compiler/ir/module.h"
#include "compiler/ir/walk.h"
#include "compiler/sanitize/sanitize.h"

enum {
    MANY_SLOTS = 4000000,       /* times blocks: mem2reg takes a fifth of a second */
    MANY_BLOCK_STEPS = 8000000, /* blocks times instructions: instcombine takes a second */
};

#define SIMPLIFYCFG "simplifycfg<no-hoist-common-insts;no-sink-common-insts;no-switch-to-lookup>"

/* ---- conditions ---- */
static const struct igv_target *target_of(const struct igc_kernel *kernel) {
    return (const struct igv_target *)kernel->target;
}

static bool is_early_round(const struct igc_kernel *kernel) {
    return kernel->round < 2;
}

static bool is_late_round(const struct igc_kernel *kernel) {
    return kernel->round >= 2;
}

/* The first round's simplification may have put vectors together. */
static bool is_scalar_after_two(const struct igc_kernel *kernel) {
    return kernel->round && igv_is_scalar(kernel);
}

static bool wants_code(const struct igc_kernel *kernel) {
    return kernel->wanted != IGC_WANT_NO_CODE;
}

/* mem2reg's time is the product of slots with blocks, and with instructions in a block. */
static bool has_many_slots(const struct igc_kernel *kernel) {
    uint64_t sum = 0;
    igi_each_function(f, kernel->module) {
        uint64_t slots = 0, blocks = 0, longest = 0;
        igi_each_block(b, f) {
            uint64_t length = igi_block_length(b);
            longest = length > longest ? length : longest;
            blocks++;
        }
        if (blocks) {
            igi_each_in_block(in, LLVMGetEntryBasicBlock(f)) {
                slots += LLVMIsAAllocaInst(in) != NULL;
            }
        }
        if (slots * (blocks + longest) > MANY_SLOTS) {
            return true;
        }
        sum += slots * (blocks + longest);
    }
    igc_work_add("cleanup", sum);
    return false;
}

/* instcombine asks for every select whether a value may be undefined, and the answer goes through
 * all blocks that dominate it: of this many steps a second. */
static bool has_many_blocks(const struct igc_kernel *kernel) {
    uint64_t most = 0;
    igi_each_function(f, kernel->module) {
        uint64_t blocks = 0, instructions = 0;
        igi_each_block(b, f) {
            blocks++;
            instructions += igi_block_length(b);
        }
        most = blocks * instructions > most ? blocks * instructions : most;
    }
    return most > MANY_BLOCK_STEPS;
}

static bool has_bit_masks(const struct igc_kernel *kernel) {
    return target_of(kernel)->bit_masks && !has_many_blocks(kernel);
}

static bool has_bit_masks_in_many_blocks(const struct igc_kernel *kernel) {
    return target_of(kernel)->bit_masks && has_many_blocks(kernel);
}

static bool has_sign_masks(const struct igc_kernel *kernel) {
    return !target_of(kernel)->bit_masks;
}

static bool is_x86(const struct igc_kernel *kernel) {
    return target_of(kernel)->is_x86;
}

static bool is_other_than_x86(const struct igc_kernel *kernel) {
    return !target_of(kernel)->is_x86;
}

static bool is_sanitized(const struct igc_kernel *kernel) {
    return kernel->sanitize != 0;
}

static bool is_counted(const struct igc_kernel *kernel) {
    return igs_wants_counters(kernel);
}

/* ---- passes of a line or two ---- */
static enum igc_result set_target(struct igc_kernel *kernel) {
    igc_kernel_set_target(kernel);
    return IGC_CHANGED;
}

static enum igc_result forget_x86(struct igc_kernel *kernel) {
    igc_forget_cpu(kernel->module);
    return IGC_CHANGED;
}

static enum igc_result add_buffer_facts(struct igc_kernel *kernel) {
    igc_add_facts(kernel->module, kernel->reflection);
    return IGC_CHANGED;
}

static enum igc_result build_entries(struct igc_kernel *kernel) {
    const struct igv_facts *facts = igv_facts(kernel);
    igc_build_entries(kernel->module, facts->entries, facts->flags, kernel->threadgroup_bytes,
                      facts->stack_bytes, facts->request.target);
    return IGC_CHANGED;
}

static enum igc_result finish_lines(struct igc_kernel *kernel) {
    igc_lines_finish(&igv_facts(kernel)->lines, kernel->module);
    return IGC_CHANGED;
}

static enum igc_result lower_tiles(struct igc_kernel *kernel) {
    bool uses_units = false;
    ingot_status status =
        igv_lower_tiles(kernel->module, kernel->machine, igv_facts(kernel)->request.target,
                        &uses_units, kernel->error);
    if (uses_units) {
        igc_add_kernel_flags(kernel->module, INGOT_CPU_KERNEL_MATRIX_UNITS);
    }
    return igc_result_of(status);
}

static enum igc_result promote_half(struct igc_kernel *kernel) {
    igc_promote_half(kernel->module);
    return IGC_CHANGED;
}

static enum igc_result unmask_memory(struct igc_kernel *kernel) {
    igc_unmask_memory(kernel->module);
    return IGC_CHANGED;
}

/* What --emit shapes shows. */
static ingot_status print_shapes(struct igc_kernel *kernel, struct ig_text *out) {
    struct igv_analysis analysis;
    struct igv_request request = {.module = kernel->module,
                                  .kernel = kernel->function,
                                  .machine = kernel->machine,
                                  .target = target_of(kernel),
                                  .full_mask = true,
                                  .buffer_slots = kernel->reflection->buffer_slots,
                                  .threadgroup_slots = kernel->reflection->threadgroup_slots};
    ingot_status status = igv_analyse(kernel->arena, &request, &analysis, kernel->error);
    if (!status) {
        igv_analysis_print(&analysis, out);
    }
    return status;
}

/* ---- the tables ---- */
static const struct igc_pass scalarise_passes[] = {
    {.name = "drop-calls",
     .about = "intrinsics that say nothing go, others become arithmetic",
     .run = igv_prepare_calls,
     .each_function = true},
    {.name = "aggregates",
     .about = "structs and arrays that are loaded, stored or passed on become their members",
     .run = igv_prepare_aggregates,
     .each_function = true},
    {.name = "vectors",
     .about = "accesses, casts and reductions of vectors become those of elements",
     .run = igv_prepare_vectors,
     .each_function = true},
    {.name = "scalarizer",
     .about = "arithmetic of vectors becomes that of elements",
     .llvm = "function(scalarizer,instsimplify,adce)"},
    {.name = "integers",
     .about = "integers of other than 8, 16, 32 or 64 bits become words",
     .run = igv_prepare_integers,
     .each_function = true},
    {.name = "combine",
     .about = "simplified, which may put vectors together again",
     .llvm = "function(instcombine<no-verify-fixpoint>,early-cse,adce)",
     .when = is_early_round},
    {.name = "simplify",
     .about = "simplified, without that",
     .llvm = "function(instsimplify,early-cse,adce)",
     .when = is_late_round},
    {0},
};

const struct igc_pass igv_prepare_passes[] = {
    {.name = "count-work",
     .about = "the profiler's counters: accesses, arithmetic, barriers",
     .run = igs_count_work,
     .when = is_counted},
    {.name = "kept-calls",
     .about = "numbers that go to functions which stay functions, and come back, go by themselves",
     .run = igv_prepare_kept},
    {.name = "drop-first-calls",
     .about = "intrinsics that say nothing go, others become arithmetic",
     .run = igv_prepare_calls,
     .each_function = true},
    {.name = "refuse-calls",
     .about = "what cannot run in lockstep is refused",
     .run = igv_prepare_check_calls,
     .each_function = true},
    {.name = "expand-copies",
     .about = "memcpy, memmove and memset become loads, stores and loops",
     .run = igv_prepare_copies,
     .each_function = true},
    {.name = "split-variables",
     .about = "private variables in registers where they can be",
     .llvm = "function(sroa,early-cse,adce)"},
    {.name = "scalarise",
     .about = "rounds of taking vectors, structs and odd integers apart",
     .inner = scalarise_passes,
     .rounds = 4,
     .until = is_scalar_after_two},
    {.name = "check-scalar",
     .about = "what is left of vectors and structs is refused",
     .run = igv_prepare_check_scalar,
     .each_function = true},
    {.name = "drop-last-calls",
     .about = "intrinsics that simplification brought back",
     .run = igv_prepare_calls,
     .each_function = true},
    {.name = "count-private",
     .about = "the profiler's counters: private memory that is not in registers",
     .run = igs_count_private,
     .when = is_counted},
    {.name = "private-arrays",
     .about = "unknown indices into private arrays are kept in range",
     .run = igc_check_private_arrays,
     .each_function = true},
    /* induction variables are known to be in range, so most of the checks go again */
    {.name = "simplify-indices",
     .about = "checks of indices that are known to be in range go",
     .llvm = "function(instsimplify,correlated-propagation,instsimplify,adce)",
     .if_changed = true},
    {.name = "exchanges",
     .about = "the parts of a compare-and-exchange are taken where it is",
     .run = igv_prepare_exchanges,
     .each_function = true},
    {.name = "control",
     .about = "branches only, one return, simple loops",
     .inner = igc_control_passes},
    {.name = "release-divisors",
     .about = "divisors that are 0 need no guard any more",
     .run = igc_release_divisors,
     .each_function = true},
    {.name = "extensions",
     .about = "extensions of numbers that are not negative keep their sign",
     .run = igv_prepare_extensions,
     .each_function = true},
    {.name = "threadgroup",
     .about = "threadgroup variables get their places",
     .run = igv_prepare_threadgroup},
    {.name = "prepared", .about = "the form that the vectoriser requires"},
    {0},
};

static const struct igc_pass finish_passes[] = {
    {.name = "promote-slots",
     .about = "kernels of very many slots: these become values in linear time",
     .run = igv_promote_slots,
     .when = has_many_slots},
    {.name = "cleanup-many-blocks",
     .about = "kernels of very many blocks: as cleanup, but simplified, not combined",
     .llvm = "function(sroa<preserve-cfg>),always-inline,globaldce,"
             "function(early-cse<memssa>,instsimplify," SIMPLIFYCFG
             ",loop-mssa(licm),early-cse<memssa>,instsimplify,adce),globaldce,"
             "strip-dead-prototypes",
     .when = has_bit_masks_in_many_blocks},
    {.name = "cleanup",
     .about = "slots to registers, everything inlined into the entries (masks of bits)",
     .llvm = "function(sroa<preserve-cfg>),always-inline,globaldce,"
             "function(early-cse<memssa>,instcombine<no-verify-fixpoint>," SIMPLIFYCFG
             ",loop-mssa(licm),early-cse<memssa>,adce),globaldce,strip-dead-prototypes",
     .when = has_bit_masks},
    /* Where masks are sign masks in vectors, instcombine must not see their phis: it would turn
     * them back into vectors of bits, which AVX2 has no registers for. So it runs while they are
     * still in stack slots, and not afterwards. */
    {.name = "cleanup-sign-masks",
     .about = "the same, where masks are vectors of signs",
     .llvm =
         "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,sroa<preserve-cfg>),"
         "always-inline,globaldce,"
         "function(early-cse<memssa>,instsimplify," SIMPLIFYCFG
         ",loop-mssa(licm),early-cse<memssa>,instsimplify,adce),globaldce,strip-dead-prototypes",
     .when = has_sign_masks},
    {.name = "promote-half",
     .about = "comparisons and intrinsics on half become float",
     .run = promote_half,
     .when = is_x86},
    {.name = "unmask",
     .about = "accesses by mask become accesses of every lane",
     .run = unmask_memory,
     .when = is_other_than_x86},
    {.name = "stack-bytes",
     .about = "an upper bound of the stack, for the runtime",
     .run = igv_set_stack_bytes},
    {.name = "optimised", .about = "what machine code is made of"},
    {0},
};

const struct igc_pass igv_passes[] = {
    {.name = "set-target", .about = "the target's data layout and triple", .run = set_target},
    {.name = "forget-x86",
     .about = "what the front end's CPU left on functions goes",
     .run = forget_x86,
     .when = is_other_than_x86},
    {.name = "prepare",
     .about = "the form that the vectoriser requires",
     .inner = igv_prepare_passes},
    {.name = "shapes",
     .about = "what is known of every value over the lanes (--emit shapes prints that)",
     .print = print_shapes},
    {.name = "choose-versions",
     .about = "which versions are worth making, and with vectors of which width",
     .run = igv_choose_versions},
    {.name = "vectorise",
     .about = "functions of 32 lanes: by positions, and with all lanes or a mask",
     .run = igv_make_versions},
    {.name = "buffer-facts",
     .about = "LLVM is told which loads cannot fault",
     .run = add_buffer_facts},
    {.name = "entries", .about = "the functions that the runtime calls", .run = build_entries},
    {.name = "line-tables",
     .about = "for gdb and perf: lines of the Metal source",
     .run = finish_lines},
    {.name = "sanitize-table",
     .about = "the places that the sanitizer's checks are about",
     .run = igs_emit_places,
     .when = is_sanitized},
    {.name = "vectorised", .about = "as emitted"},
    {.name = "lower-tiles",
     .about = "simdgroup_matrix: calls on whole tiles become code on their rows",
     .run = lower_tiles},
    {.name = "finish",
     .about = "clean-up, and what the machine lacks",
     .inner = finish_passes,
     .when = wants_code},
    {0},
};
