/*
 * What is done once per kernel, whatever the back end: from the front end's module to one scalar
 * function with everything inlined, and what the host must know of it.
 *
 * passes.c has the order. Requires clang's bitcode as frontend/frontend.h says; provides what the
 * back ends start from. Does not know any target.
 */
#ifndef INGOT_COMPILER_MIDDLE_H
#define INGOT_COMPILER_MIDDLE_H

#include "base/archive.h"
#include "compiler/frontend/frontend.h"
#include "compiler/passes/passes.h"

/* ---- what is asked ----------------------------------------------------------------------------
 */
struct igc_value { /* of a function constant */
    uint32_t index;
    const uint8_t *bytes;
    size_t size;
};

/* Sources that define what the kernel's declares: compiled when they are needed. */
struct igc_others {
    const char *const *paths;
    size_t count;
    const struct igc_options *options; /* of the front end */
    struct igc_other *items;           /* other_sources.c's */
};

/* One kernel for one set of constants. */
struct igc_job {
    const char *kernel;
    const struct igc_source *source; /* for constants' names and places of errors; may be NULL */
    const struct igc_value *values;  /* of function constants, in ascending index */
    size_t value_count;
    bool fast_math;
    bool loose_alignment;   /* vectors may lie at any multiple of their elements */
    bool *filled;           /* or NULL: becomes true where fill_constants gave a value */
    bool fill_constants;    /* missing constants are 1: only to see whether the kernel compiles */
    bool assumed_constants; /* so are some of those given */
    uint32_t sanitize;      /* kinds of checks (base/sanitize.h) */
    struct igc_others *others; /* or NULL */
    const char *prelude_dir;   /* of the front end; may be NULL */
    struct ig_text *warnings;  /* what limits.c has to say; may be NULL */
};

/* ---- what the host must know (reflect.c) --------------------------------------------------------
 */
/* A member of a struct behind an argument, where they were asked for. */
struct igc_member {
    uint32_t argument; /* its position; before that is known, its ordinal */
    uint32_t id;       /* ~0u: this one and those behind it are not understood */
    uint32_t space;    /* ingot_address_space of a pointer; else 0 */
    uint32_t scalar, components, count;
    uint64_t offset, size;
    const char *name;
};

struct igc_reflection {
    uint32_t argument_count;
    struct ig_argument *arguments; /* in declaration order */
    uint32_t max_threads;
    uint64_t asked_threads; /* by max_total_threads_per_threadgroup, as it stands there */
    bool asks_threads;
    uint32_t threads_at_once; /* on a GPU's core; 0: not said */
    bool whole_simdgroups;    /* threadgroups have multiples of 32 threads */
    bool full_threadgroups;   /* threadgroups have exactly max_threads threads */
    uint32_t ordinal_count;
    uint32_t *buffer_slots, *threadgroup_slots; /* by parameter ordinal */
    struct igc_member *members;
    uint32_t member_count;
};
/* Reads and deletes the kernel's calls of __ingot_param, __ingot_max_threads,
 * __ingot_threads_at_once, __ingot_whole_simdgroups and __ingot_full_threadgroups. */
ingot_status igc_reflect(struct ig_arena *arena, LLVMValueRef kernel, const struct igc_job *job,
                         struct igc_reflection *reflection, struct ig_error *error);
/* Before that: the address of an argument by reference is good for reads of its type's size,
 * which the launch validator sees to. */
void igc_mark_references(LLVMValueRef kernel);
/* "const char *f() [T = metal::atomic<float>]" → "atomic_float" (type_names.c). */
const char *igc_clean_type(struct ig_arena *arena, const char *spelling);

/* ---- passes.c: the order ------------------------------------------------------------------------
 */
/* From clang's module to one kernel with its constants: once, for all targets. */
extern const struct igc_pass igc_isolate_passes[];
/* From there to one scalar function: once for each back end. */
extern const struct igc_pass igc_scalar_passes[];
/* For back ends: branches only, one return, reducible loops in loop-simplify and LCSSA form. */
extern const struct igc_pass igc_control_passes[];

/* ---- passes that back ends share ---- */
igc_pass_fn igc_return_at_unreachable; /* control.c: unreachable → return */
igc_pass_fn igc_leave_endless_loops;   /* control.c: a way out of every loop */
/* Unknown indices into private arrays are kept in range (private_arrays.c). */
igc_pass_fn igc_check_private_arrays;

/* Variables that code for debuggers has (prelude/ingot_debug.h): struct ingot_cpu_thread and an
 * array of struct ingot_cpu_lane (base/cpu_abi.h). */
#define IGC_DEBUG_THREAD "ingot_thread"
#define IGC_DEBUG_LANES  "ingot_lanes"
/* One of these, or a function that debuggers call: no kernel reaches it, but it stays. */
bool igc_is_for_debuggers(LLVMValueRef symbol);

/* ---- module.c -----------------------------------------------------------------------------------
 */
/* The function with annotation "ingot.kernel:NAME". */
ingot_status igc_module_find(LLVMModuleRef module, const char *kernel, LLVMValueRef *function,
                             struct ig_error *error);
/* Whether any such annotation names the function. */
bool igc_module_is_kernel(LLVMModuleRef module, LLVMValueRef function);
/* Makes everything but the kernel internal, and drops the annotations. */
void igc_module_isolate(LLVMModuleRef module, LLVMValueRef kernel);
/* Positions at program scope become variables of the functions that read them (inputs.c). */
void igc_fill_inputs(LLVMModuleRef module);

/* ---- other_sources.c ----------------------------------------------------------------------------
 */
/* Links what the kernel needs, its module only declares, and the job's other sources define, into
 * it. */
ingot_status igc_link_sources(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                              const struct igc_job *job, struct ig_error *error);

/* ---- calls.c, undefined.c -----------------------------------------------------------------------
 */
/* Warns of an instruction that Apple's compiler does not come to (portable.c). */
void igc_warn_unportable_code(const struct igc_job *job, LLVMValueRef instruction);
/* Refuses recursion and calls of kernels, at their place in the source. */
ingot_status igc_check_calls(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                             struct ig_error *error);
/* After optimisation: refuses calls of what nobody defines, and through pointers. */
ingot_status igc_check_targets(LLVMValueRef kernel, const struct igc_job *job,
                               struct ig_error *error);
/* The last name in a mangled one: "_ZN3foo3barEi" → "bar". Names of other forms stay whole. */
const char *igc_plain_name(const char *mangled, size_t *length);
extern const char igc_texture_class[]; /* in mangled names */
/* The kernel calls a function of this (mangled) name that has no body. */
ingot_status igc_fail_undefined(const char *name, struct ig_error *error);

/* ---- arithmetic.c -------------------------------------------------------------------------------
 */
/* Defines what LLVM leaves undefined and Metal does not: shifts, divisions, conversions. */
enum igc_result igc_guard_arithmetic(struct igc_kernel *kernel);
#define IGC_OWN_OPERAND "ingot.operand" /* metadata: the constant that an operand was before */
/* Bools that are only copied keep their bytes. Requires everything inlined. */
enum igc_result igc_copy_bools(struct igc_kernel *kernel);
/* Takes the guards of divisors away, in front of what makes code of divisions. */
enum igc_result igc_release_divisors(struct igc_kernel *kernel);

/* ---- specialise.c -------------------------------------------------------------------------------
 */
/* Gives function constants their values and folds __ingot_constant_defined and
 * __ingot_fast_math. */
ingot_status igc_specialise(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                            struct ig_error *error);
/* There are no panels: __ingot_has_panels is false. True if the module asks. */
bool igc_fold_panels(LLVMModuleRef module, const struct igc_job *job);
/* After optimisation: refuses what still uses a constant without a value, with INGOT_NOT_FOUND. */
ingot_status igc_check_constants(LLVMModuleRef module, const struct igc_job *job,
                                 struct ig_error *error);

/* ---- optimise.c ---------------------------------------------------------------------------------
 */
/* Every function but the kernel is to be inlined wherever it is called. */
void igc_mark_for_inlining(LLVMModuleRef module, LLVMValueRef kernel);
/* Tells LLVM what it may assume of built-ins beyond what their declarations say. */
void igc_describe_builtins(LLVMModuleRef module);
/* Metal programs view memory as whatever type they like: no conclusions from types. */
void igc_forget_type_aliasing(LLVMModuleRef module);
/* Nothing writes to the constant address space while a kernel runs. */
void igc_mark_constant_loads(LLVMValueRef kernel);
/* What LLVM's passes ask for costs while there is no target. */
ingot_status igc_scalar_machine(LLVMTargetMachineRef *machine, struct ig_error *error);
/* Has so much to be inlined that it is better simplified from the inside outwards. */
bool igc_is_tower(LLVMModuleRef module, LLVMValueRef kernel);

/* ---- keep_functions.c, kept_calls.c ------------------------------------------------------------
 */
/* Chooses functions that are not inlined, in giant kernels (passes/passes.h: IGC_KEPT). */
enum igc_result igc_keep_functions(struct igc_kernel *kernel);

/* ---- many_loops.c -------------------------------------------------------------------------------
 */
/* So many that the loop passes would take a time of loops × instructions. */
bool igc_has_many_loops(LLVMValueRef function);
bool igc_has_most_loops(LLVMValueRef function); /* too many to rotate them, too */
/* What comes into loops is frozen, if one of them may be unrolled, and back. */
enum igc_result igc_freeze_loop_inputs(struct igc_kernel *kernel);
enum igc_result igc_release_loop_inputs(struct igc_kernel *kernel);

/* ---- bound_unrolling.c --------------------------------------------------------------------------
 */
/* Loops that the source wants unrolled to more than kernel->most_unrolled instructions need not be.
 */
enum igc_result igc_bound_unrolling(struct igc_kernel *kernel);

/* ---- traps.c ------------------------------------------------------------------------------------
 */
/* True when there were any. */
bool igc_replace_traps(LLVMModuleRef module);

/* ---- recursion.c --------------------------------------------------------------------------------
 */
/* Clones functions that call themselves, level by level, to a limited depth. */
ingot_status igc_unroll_recursion(LLVMModuleRef module, LLVMValueRef kernel,
                                  struct ig_error *error);

/* ---- loop_exits.c -------------------------------------------------------------------------------
 */
/* Keeps what breaks out of a loop, and looks at the active lanes, in its iteration: on clang's
 * own blocks. And back, after inlining, where it was not needed. */
ingot_status igc_pin_loop_exits(LLVMModuleRef module, struct ig_error *error);
ingot_status igc_release_loop_exits(LLVMModuleRef module, LLVMValueRef kernel,
                                    struct ig_error *error);

/* ---- limits.c -----------------------------------------------------------------------------------
 */
/* Warns, in job->warnings, of arguments, threads and threadgroup memory (the optimised module's)
 * beyond what Apple's GPUs have. */
void igc_warn_limits(LLVMModuleRef module, const struct igc_job *job,
                     const struct igc_reflection *reflection);

#endif
