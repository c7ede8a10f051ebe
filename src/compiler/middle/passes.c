/*
 * What is done to a kernel before any back end sees it: the order, as two tables.
 *
 * The first takes clang's module to one kernel with its constants, once for all targets. The second
 * takes that to one scalar function, with everything inlined and what the host must know taken out
 * of it, once for each back end (which may begin with passes of its own).
 */
#include <string.h>

#include "compiler/ir/map.h"
#include "compiler/ir/walk.h"
#include "compiler/middle/middle.h"

#define SIMPLIFYCFG                                                                                \
    "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;no-switch-range-to-icmp;"           \
    "no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts>"

/* Parts of "scalar", which kernels of very many loops take one by one. */
#define AFTER_LOOPS                                                                                \
    "sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>,gvn<no-pre>,sccp,bdce"                \
    ",instcombine<no-verify-fixpoint>,dse,loop-mssa(licm<allowspeculation>),adce," SIMPLIFYCFG     \
    ",instcombine<no-verify-fixpoint>"
#define LAST_GLOBALS ",globalopt,globaldce,strip-dead-prototypes"

/* ---- one kernel ---- */
static enum igc_result link_sources(struct igc_kernel *k) {
    return igc_result_of(igc_link_sources(k->arena, k->module, k->function, k->job, k->error));
}

static bool has_other_sources(const struct igc_kernel *k) {
    return k->job->others && k->job->others->count;
}

static enum igc_result check_calls(struct igc_kernel *k) {
    return igc_check_calls(k->module, k->function, k->job, k->error) ? IGC_FAILED : IGC_UNCHANGED;
}

static enum igc_result isolate(struct igc_kernel *k) {
    igc_module_isolate(k->module, k->function);
    return IGC_CHANGED;
}

static enum igc_result specialise(struct igc_kernel *k) {
    LLVMSetValueName2(k->function, k->name, strlen(k->name));
    return igc_result_of(igc_specialise(k->module, k->function, k->job, k->error));
}

const struct igc_pass igc_isolate_passes[] = {
    {.name = "bitcode", .about = "what clang made: every kernel of the source, unoptimised"},
    {.name = "link-sources",
     .about = "functions that other sources define are linked",
     .run = link_sources,
     .when = has_other_sources},
    {.name = "check-calls",
     .about = "recursion and calls of kernels are refused, at their line",
     .run = check_calls},
    {.name = "isolate", .about = "everything but the kernel becomes internal", .run = isolate},
    {.name = "unreached", .about = "what the kernel does not reach goes", .llvm = "globaldce"},
    {.name = "guard-arithmetic",
     .about = "shifts count modulo the width; divisions by zero are no promise to LLVM",
     .run = igc_guard_arithmetic},
    {.name = "specialise",
     .about = "function constants get their values; questions about fast maths are answered",
     .run = specialise},
    {.name = "specialised", .about = "one kernel with its constants"},
    {0},
};

/* ---- one scalar function ---- */
static bool keeps_functions(const struct igc_kernel *k) {
    return k->keeps_functions && !k->sanitize;
}

static enum igc_result mark_for_inlining(struct igc_kernel *k) {
    igc_mark_for_inlining(k->module, k->function);
    return IGC_CHANGED;
}

static enum igc_result replace_traps(struct igc_kernel *k) {
    return igc_replace_traps(k->module) ? IGC_CHANGED : IGC_UNCHANGED;
}

static enum igc_result describe_builtins(struct igc_kernel *k) {
    igc_describe_builtins(k->module);
    return IGC_CHANGED;
}

static bool has_no_panels(const struct igc_kernel *k) {
    return !k->has_panels;
}

static enum igc_result fold_panels(struct igc_kernel *k) {
    return igc_fold_panels(k->module, k->job) ? IGC_CHANGED : IGC_UNCHANGED;
}

static enum igc_result forget_type_aliasing(struct igc_kernel *k) {
    igc_forget_type_aliasing(k->module);
    return IGC_CHANGED;
}

static enum igc_result pin_loop_exits(struct igc_kernel *k) {
    return igc_result_of(igc_pin_loop_exits(k->module, k->error));
}

/* Pinning goes by clang's own order of blocks, which Apple's compiler does not keep. The
 * sanitizer's passes have done it before they inlined everything. */
static bool is_clangs(const struct igc_kernel *k) {
    return !k->sanitize && !LLVMGetNamedMetadata(k->module, IGC_AIR_MARK, strlen(IGC_AIR_MARK));
}

/* The kernel itself chooses among functions, of which each may be much code, by a constant that now
 * has its value: switch (NSG) { case 4: implementation<4>(…); … }. */
static bool chooses_by_constant(const struct igc_kernel *k) {
    igi_each_block(b, k->function) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        LLVMValueRef value = end && LLVMIsASwitchInst(end) ? LLVMGetOperand(end, 0) : NULL;
        if (value && LLVMIsACastInst(value)) {
            value = LLVMGetOperand(value, 0);
        }
        LLVMValueRef from = value && LLVMIsALoadInst(value) ? LLVMGetOperand(value, 0) : NULL;
        if (value && (LLVMIsConstant(value) || (from && LLVMIsAGlobalVariable(from)))) {
            return true;
        }
    }
    return false;
}

static enum igc_result release_loop_exits(struct igc_kernel *k) {
    return igc_result_of(igc_release_loop_exits(k->module, k->function, k->error));
}

static bool has_many_loops(const struct igc_kernel *k) {
    return igc_has_many_loops(k->function);
}

static bool has_many_loops_to_rotate(const struct igc_kernel *k) {
    return igc_has_many_loops(k->function) && !igc_has_most_loops(k->function);
}

static bool has_few_loops(const struct igc_kernel *k) {
    return !has_many_loops(k);
}

static bool is_tower(const struct igc_kernel *k) {
    return has_few_loops(k) && igc_is_tower(k->module, k->function);
}

static enum igc_result unroll_recursion(struct igc_kernel *k) {
    return igc_result_of(igc_unroll_recursion(k->module, k->function, k->error));
}

static bool has_functions(const struct igc_kernel *k) {
    igi_each_function(f, k->module) {
        if (f != k->function && !LLVMIsDeclaration(f) && igc_kept_number(f) == IGI_NONE) {
            return true;
        }
    }
    return false;
}

static enum igc_result mark_constant_loads(struct igc_kernel *k) {
    igc_mark_constant_loads(k->function);
    igc_mark_references(k->function);
    return IGC_CHANGED;
}

static bool bounds_unrolling(const struct igc_kernel *k) {
    return k->most_unrolled != 0;
}

static enum igc_result check_constants(struct igc_kernel *k) {
    return igc_result_of(igc_check_constants(k->module, k->job, k->error));
}

static enum igc_result check_targets(struct igc_kernel *k) {
    return igc_check_targets(k->function, k->job, k->error) ? IGC_FAILED : IGC_UNCHANGED;
}

static enum igc_result reflect(struct igc_kernel *k) {
    return igc_result_of(igc_reflect(k->arena, k->function, k->job, k->reflection, k->error));
}

static enum igc_result warn_limits(struct igc_kernel *k) {
    igc_warn_limits(k->module, k->job, k->reflection);
    return IGC_UNCHANGED;
}

static const struct igc_pass many_loops_passes[] = {
    {.name = "before-many-loops",
     .about = "as scalar begins; loops get preheaders",
     .llvm = "function(early-cse<memssa>,correlated-propagation," SIMPLIFYCFG
             ",reassociate,loop-mssa(loop-instsimplify,loop-simplifycfg,licm<allowspeculation>)"
             "," SIMPLIFYCFG ",instcombine<no-verify-fixpoint>,loop-simplify,lcssa)"},
    {.name = "freeze-loop-inputs",
     .about = "if one can be unrolled: no analysis follows a value to the loops before",
     .run = igc_freeze_loop_inputs},
    {.name = "unroll-many-loops",
     .about = "scalar's loop passes",
     .llvm = "function(loop(loop-deletion,loop-unroll-full))",
     .if_changed = true},
    {.name = "release-loop-inputs",
     .about = "what freeze-loop-inputs did is undone",
     .run = igc_release_loop_inputs,
     .if_changed = true},
    {0},
};

#define INLINE_RECURSION                                                                           \
    "function(tailcallelim),always-inline,globaldce,"                                              \
    "function(sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>," SIMPLIFYCFG                \
    ",instcombine<no-verify-fixpoint>)"
static const struct igc_pass recursion_passes[] = {
    {.name = "tails",
     .about = "functions that call themselves last become loops, and are inlined",
     .llvm = INLINE_RECURSION},
    {.name = "unroll-recursion",
     .about = "functions of floats that call themselves become a few levels of functions",
     .run = unroll_recursion,
     .when = has_functions},
    {.name = "mark-levels", .about = "each level is to be inlined", .run = mark_for_inlining},
    {.name = "levels", .about = "the levels are inlined", .llvm = INLINE_RECURSION},
    {0},
};

const struct igc_pass igc_scalar_passes[] = {
    {.name = "keep-functions",
     .about = "giant kernels: functions of numbers, called often, are to stay functions",
     .run = igc_keep_functions,
     .when = keeps_functions},
    {.name = "mark-inlining",
     .about = "every other function but the kernel is to be inlined",
     .run = mark_for_inlining},
    {.name = "replace-traps",
     .about = "traps become calls that end the launch",
     .run = replace_traps},
    {.name = "fold-panels",
     .about = "the back end has no panels",
     .run = fold_panels,
     .when = has_no_panels},
    {.name = "without-panels",
     .about = "what would use them goes",
     .llvm = "function(instsimplify," SIMPLIFYCFG "),globaldce",
     .if_changed = true},
    {.name = "describe-builtins",
     .about = "LLVM is told what built-ins do to memory, and which depend on no other lane",
     .run = describe_builtins},
    {.name = "forget-type-aliasing",
     .about = "no conclusions from types: Metal programs view memory as any",
     .run = forget_type_aliasing},
    {.name = "pin-loop-exits",
     .about = "code before a break that depends on the active lanes stays in its loop",
     .run = pin_loop_exits,
     .when = is_clangs},
    {.name = "unchosen",
     .about = "functions that the kernel calls for other values of a constant go",
     .llvm = "globalopt,function(instsimplify," SIMPLIFYCFG "),globaldce",
     .when = chooses_by_constant},
    /* The same as "early", from the innermost functions outwards, each simplified before it is
     * copied into its callers, and its loops unrolled: what inlining makes of deep towers of small
     * functions (arithmetic of wide integers) is too much to be simplified at once, and unrolling a
     * loop costs as much as what is around it. */
    {.name = "towers",
     .about = "kernels of very many small functions: inlined from the inside outwards",
     .llvm = "globalopt,globaldce,"
             "cgscc(inline<only-mandatory>,function(sroa<modify-cfg>,early-cse<memssa>," SIMPLIFYCFG
             ",instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate<header-duplication;"
             "no-prepare-for-lto>),loop(indvars,loop-deletion,loop-unroll-full),sroa<modify-cfg>,"
             "early-cse<memssa>)),globaldce",
     .when = is_tower},
    {.name = "rotate-many-loops",
     .about = "kernels of many loops, though not the most: these end with their condition",
     .llvm =
         "function(" SIMPLIFYCFG ",loop-mssa(loop-rotate<header-duplication;no-prepare-for-lto>))",
     .when = has_many_loops_to_rotate},
    {.name = "early",
     .about = "inlined, in SSA form, every access in its own address space",
     .llvm = "globalopt,globaldce,always-inline,globaldce,"
             "function(sroa<modify-cfg>,infer-address-spaces,early-cse<memssa>," SIMPLIFYCFG
             ",instcombine<no-verify-fixpoint>)"},
    {.name = "recursion",
     .about = "functions that call themselves, a few levels deep",
     .inner = recursion_passes,
     .when = has_functions},
    {.name = "copy-bools",
     .about = "a bool that is only copied keeps its byte",
     .run = igc_copy_bools,
     .each_function = true},
    {.name = "release-loop-exits",
     .about = "what pin-loop-exits did is undone where it was not needed",
     .run = release_loop_exits},
    {.name = "mark-constant-loads",
     .about = "loads from the constant address space never change; references can be read",
     .run = mark_constant_loads,
     .each_function = true},
    {.name = "bound-unrolling",
     .about = "loops that the source wants unrolled to too much code need not be",
     .run = igc_bound_unrolling,
     .when = bounds_unrolling,
     .each_function = true},
    {.name = "many-loops",
     .about = "kernels of very many loops: the first half of scalar, without rotation",
     .inner = many_loops_passes,
     .when = has_many_loops},
    {.name = "scalar",
     .about = "scalar -O2, without what merges or moves calls that depend on the active lanes",
     .llvm =
         "function(early-cse<memssa>,correlated-propagation," SIMPLIFYCFG
         ",reassociate,loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,"
         "loop-rotate<header-duplication;no-prepare-for-lto>,licm<allowspeculation>)," SIMPLIFYCFG
         ",instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion,loop-unroll-full)"
         "," AFTER_LOOPS ")" LAST_GLOBALS,
     .when = has_few_loops},
    {.name = "scalar-many-loops",
     .about = "the second half of scalar",
     .llvm = "function(" AFTER_LOOPS ")" LAST_GLOBALS,
     .when = has_many_loops},
    {.name = "check-constants",
     .about = "what still uses a constant without a value is refused",
     .run = check_constants},
    {.name = "check-targets",
     .about = "calls of what nobody defines, and through pointers, are refused",
     .run = check_targets},
    {.name = "reflect",
     .about = "the arguments and limits, for the host; the calls that state them go",
     .run = reflect},
    {.name = "warn-limits", .about = "warnings of what is beyond Apple's GPUs", .run = warn_limits},
    {.name = "scalar-kernel", .about = "what every back end starts from"},
    {0},
};

/* ---- for back ends ---- */
const struct igc_pass igc_control_passes[] = {
    {.name = "lower-switches",
     .about = "switches become branches",
     .llvm = "function(sccp,lower-switch)"},
    {.name = "return-at-unreachable",
     .about = "unreachable becomes a return",
     .run = igc_return_at_unreachable,
     .each_function = true},
    {.name = "one-return", .about = "all returns become one", .llvm = "function(mergereturn)"},
    {.name = "leave-endless-loops",
     .about = "every loop gets a way out, which is never taken: post-dominators exist",
     .run = igc_leave_endless_loops,
     .each_function = true},
    {.name = "simple-loops",
     .about = "reducible loops with one latch, in LCSSA form",
     .llvm = "function(fix-irreducible,loop-simplify,lcssa)"},
    {0},
};
