/*
 * The parts of ingotc between bitcode and archive, in the order in which pipeline.c uses them.
 * See docs/design/pipeline.md.
 */
#ifndef INGOT_COMPILER_DRIVER_H
#define INGOT_COMPILER_DRIVER_H

#include "base/text.h"
#include "compiler/cpu/vectorise/vectorise.h"
#include "compiler/frontend/frontend.h"

/* ---- targets.c ------------------------------------------------------------------------ */
/* The CPU and GPU levels that ingotc can make code for; NULL-terminated names. */
const struct igv_target *igc_target_find(const char *name); /* NULL if unknown */
const char *const *igc_target_names(void);
const struct igv_target *igc_target_host(void); /* the best this CPU runs; NULL if none */
/* Sets up LLVM once per process. */
void igc_llvm_start(void);
ingot_status igc_machine_create(const struct igv_target *target, LLVMTargetMachineRef *machine,
                                struct ig_error *error);

/* ---- options.c: the command line ------------------------------------------------------ */
enum igc_emit {
    IGC_EMIT_ARCHIVE,
    IGC_EMIT_CPP,
    IGC_EMIT_BITCODE,
    IGC_EMIT_PREPARED,
    IGC_EMIT_SHAPES,
    IGC_EMIT_VECTORISED,
    IGC_EMIT_OPTIMISED,
    IGC_EMIT_ASM,
};

struct igc_value { /* of a function constant */
    uint32_t index;
    const uint8_t *bytes;
    size_t size;
};

struct igc_others { /* compiled when they are needed (sources.c) */
    struct igc_other *items;
};

struct igc_command {
    const char *source_path; /* "-" is stdin */
    const char *output;
    struct igc_options front;
    const char *const *kernels; /* none: all */
    size_t kernel_count;
    const struct igv_target *const *targets; /* at least one */
    size_t target_count;
    const struct igc_value *values; /* ascending index */
    size_t value_count;
    const char *constants_key;     /* the values as struct ig_variant spells them */
    const char *depfile;           /* where the included files are listed; NULL: nowhere */
    const char *const *with_paths; /* sources that define what this one declares */
    size_t with_count;
    struct igc_others *others; /* as many */
    const char *variants_path; /* instead of kernels and values; NULL: none */
    bool preprocessed, list_only, describe_only, jit, time_report, progress, version, help;
    bool check;   /* code is made, but neither linked nor kept */
    bool no_code; /* nor made */
    enum igc_emit emit;
};

extern const char igc_usage[];
/* INGOT_INVALID_ARGUMENT with a sentence when the command line is wrong. */
ingot_status igc_command_parse(struct ig_arena *arena, int argc, char **argv,
                               struct igc_command *command, struct ig_error *error);
/* "0:01;7:00008040", of values in ascending index; NULL when memory is out. */
const char *igc_constants_key(struct ig_arena *arena, const struct igc_value *values, size_t count);
/* $INGOT_PRELUDE, ../share/ingot/prelude beside the program, or the source tree's. */
ingot_status igc_find_prelude(struct ig_arena *arena, const char **prelude, struct ig_error *error);

/* ---- pipeline.c ------------------------------------------------------------------------ */
/* The whole of ingotc after the command line; *warnings (the arena's) also when it fails. */
ingot_status igc_run(struct ig_arena *arena, struct igc_command *command, const char **warnings,
                     struct ig_error *error);

/* The text of a source file, or ("-") of stdin, without a byte-order mark. */
ingot_status igc_read_source(struct ig_arena *arena, const char *path, const char **text,
                             size_t *size, struct ig_error *error);

/* One kernel for one set of constants. */
struct igc_job {
    const char *kernel;
    const struct igc_command *command;
    const struct igc_source *source; /* for the constants' names; may be NULL in tests */
    bool fill_constants;      /* missing constants are 1: only to see whether the kernel compiles */
    struct ig_text *emitted;  /* where --emit writes; may be NULL */
    struct ig_text *warnings; /* what limits.c has to say; may be NULL */
};

/* From the front end's module (changed, not freed) to code for every target. */
ingot_status igc_compile_module(struct ig_arena *arena, LLVMModuleRef module,
                                const struct igc_job *job, struct ig_variant *variant,
                                struct ig_error *error);

/* Called once per kernel: variant is NULL when it failed (error), or has no code because a
 * constant has no value (then error is NULL too). */
typedef void igc_done_fn(void *context, size_t position, const struct ig_variant *variant,
                         const char *warnings, const struct ig_error *error);

struct igc_batch { /* the kernels of one clang run */
    struct igc_source *source;
    const struct igc_command *command;
    const char *const *kernels;
    size_t count;
    size_t first;            /* added to the position that `done` gets */
    struct ig_text *emitted; /* or NULL */
    igc_done_fn *done;
    void *context;
    /* Or NULL. Starts a process for a kernel: true in that process, which calls `end` instead of
     * going on to the next one; false in ours, when the kernel is done. */
    bool (*apart)(void *context, size_t position);
    void (*end)(void *context);
};
void igc_compile_batch(struct ig_arena *arena, const struct igc_batch *batch);

/* ---- describe.c ------------------------------------------------------------------------- */
/* Reports every kernel of a clang run with its arguments and limits, but without code. */
void igc_describe_batch(struct ig_arena *arena, const struct igc_batch *batch, const void *bitcode,
                        size_t size, const char *warnings);

/* ---- jobs.c: several kernels, and many in child processes -------------------------------- */
struct igc_batch_result {
    struct ig_variant *variants; /* of the kernels that were compiled */
    uint32_t variant_count;
    const char *warnings;
};
ingot_status igc_compile_all(struct ig_arena *arena, struct igc_source *source,
                             const struct igc_command *command, const char *const *kernels,
                             size_t kernel_count, struct ig_text *emitted,
                             struct igc_batch_result *result, struct ig_error *error);
ingot_status igc_compile_few(struct ig_arena *arena, struct igc_source *source,
                             const struct igc_command *command, const char *const *kernels,
                             size_t kernel_count, struct igc_batch_result *result,
                             struct ig_error *error);
ingot_status igc_compile_many(struct ig_arena *arena, struct igc_source *source,
                              const struct igc_command *command, const char *const *kernels,
                              size_t kernel_count, struct igc_batch_result *result,
                              struct ig_error *error);

/* ---- variants.c: kernels and constants from a file ------------------------------------------ */
struct igc_variant_group { /* the kernels that share a set of constants and the targets */
    const char *constants_key;
    const struct igc_value *values;
    size_t value_count;
    const char **kernels;
    size_t kernel_count, capacity;
    uint32_t targets; /* a bit per target of the command */
};
/* Of command->variants_path. */
ingot_status igc_variants_read(struct ig_arena *arena, const struct igc_command *command,
                               const struct igc_source *source, struct igc_variant_group **groups,
                               size_t *count, struct ig_error *error);

/* ---- module.c ----------------------------------------------------------------------------- */
ingot_status igc_module_parse(LLVMContextRef context, const void *bitcode, size_t size,
                              LLVMModuleRef *module, struct ig_error *error);
/* The front end compiles for x86-64, whatever the target: removes what that left on functions. */
void igc_forget_cpu(LLVMModuleRef module);
/* The function with annotation "ingot.kernel:NAME". */
ingot_status igc_module_find(LLVMModuleRef module, const char *kernel, LLVMValueRef *function,
                             struct ig_error *error);
/* Whether any such annotation names the function. */
bool igc_module_is_kernel(LLVMModuleRef module, LLVMValueRef function);
/* Makes everything but the kernel internal, and drops the annotations. */
void igc_module_isolate(LLVMModuleRef module, LLVMValueRef kernel);
/* Positions at program scope become variables of the functions that read them (inputs.c). */
void igc_fill_inputs(LLVMModuleRef module);
/* Runs LLVM passes as one named stage: times, verifies, dumps ($INGOT_DUMP=NAME or "all") and
 * can be left out ($INGOT_SKIP=NAME). `pipeline` NULL only verifies and dumps. */
ingot_status igc_stage(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name,
                       const char *pipeline, struct ig_error *error);
void igc_print_module(LLVMModuleRef module, struct ig_text *out);
/* The bytes of a constant string, with its NUL if it has one; NULL if it is none. */
const char *igc_constant_text(LLVMValueRef value, size_t *length);

/* ---- sources.c --------------------------------------------------------------------------- */
/* Links what the kernel needs, its module only declares, and the command's other sources define,
 * into it. */
ingot_status igc_link_sources(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                              const struct igc_job *job, struct ig_error *error);

/* ---- specialise.c -------------------------------------------------------------------------- */
/* Gives function constants their values and folds __ingot_constant_defined and
 * __ingot_fast_math. */
ingot_status igc_specialise(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                            struct ig_error *error);
/* After optimisation: refuses what still uses a constant without a value, with INGOT_NOT_FOUND. */
ingot_status igc_check_constants(LLVMModuleRef module, const struct igc_job *job,
                                 struct ig_error *error);

/* ---- calls.c --------------------------------------------------------------------------------- */
/* Refuses recursion and calls of kernels, at their place in the source. */
ingot_status igc_check_calls(LLVMModuleRef module, LLVMValueRef kernel, const struct igc_job *job,
                             struct ig_error *error);
/* After optimisation: refuses calls of what nobody defines, and through pointers. */
ingot_status igc_check_targets(LLVMValueRef kernel, const struct igc_job *job,
                               struct ig_error *error);
/* The last name in a mangled one: "_ZN3foo3barEi" → "bar". Names of other forms stay whole. */
const char *igc_plain_name(const char *mangled, size_t *length);

/* ---- optimise.c ----------------------------------------------------------------------------- */
/* Every function but the kernel is to be inlined wherever it is called. */
void igc_mark_for_inlining(LLVMModuleRef module, LLVMValueRef kernel);
ingot_status igc_optimise(LLVMModuleRef module, LLVMValueRef kernel, struct ig_error *error);

/* ---- recursion.c ------------------------------------------------------------------------- */
/* Clones functions that call themselves, level by level, to a limited depth. */
ingot_status igc_unroll_recursion(LLVMModuleRef module, LLVMValueRef kernel,
                                  struct ig_error *error);

/* ---- loop_exits.c ------------------------------------------------------------------------ */
/* Keeps what breaks out of a loop, and looks at the active lanes, in its iteration: on clang's
 * own blocks. And back, after inlining, where it was not needed. */
ingot_status igc_pin_loop_exits(LLVMModuleRef module, struct ig_error *error);
ingot_status igc_release_loop_exits(LLVMModuleRef module, LLVMValueRef kernel,
                                    struct ig_error *error);

/* ---- reflect.c ------------------------------------------------------------------------------ */
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
};
/* Reads and deletes the kernel's calls of __ingot_param, __ingot_max_threads,
 * __ingot_threads_at_once, __ingot_whole_simdgroups and __ingot_full_threadgroups. */
ingot_status igc_reflect(struct ig_arena *arena, LLVMValueRef kernel, const struct igc_job *job,
                         struct igc_reflection *reflection, struct ig_error *error);
/* Before that: the address of an argument by reference is good for reads of its type's size,
 * which the launch validator sees to. */
void igc_mark_references(LLVMValueRef kernel);
/* "const char *f() [T = metal::atomic<float>]" → "atomic_float". */
const char *igc_clean_type(struct ig_arena *arena, const char *spelling);

/* ---- limits.c ------------------------------------------------------------------------------- */
/* Warns, in job->warnings, of arguments, threads and threadgroup memory (the optimised module's)
 * beyond what Apple's GPUs have. */
void igc_warn_limits(LLVMModuleRef module, const struct igc_job *job,
                     const struct igc_reflection *reflection);

/* ---- codegen.c, facts.c, entries.c
 * ------------------------------------------------------------------- */
struct igc_code {
    uint32_t static_threadgroup_bytes;
    LLVMMemoryBufferRef object; /* or assembly text; the caller disposes */
};
/* Vectorises the scalar kernel of `module` (which is used up) for one target. */
/* Machine code in a child process with a limit of CPU time: see guarded.c. There, `choose` (or
 * NULL) may set LLVM up differently and return another machine. */
typedef LLVMTargetMachineRef igc_machine_fn(LLVMModuleRef module, LLVMTargetMachineRef machine);
ingot_status igc_emit_guarded(LLVMModuleRef module, LLVMTargetMachineRef machine,
                              igc_machine_fn *choose, bool assembly, LLVMMemoryBufferRef *out,
                              struct ig_error *error);
/* Cuts blocks into pieces of `length` to twice as many instructions: see long_blocks.c. */
void igc_cut_long_blocks(LLVMModuleRef module, unsigned length);
/* What to vectorise for when a target's own vectors defeat LLVM; NULL: nothing narrower. */
const struct igv_target *igc_target_fallback(const struct igv_target *target);
/* The same level, with the width of vectors that suits kernels which mostly load and store. */
const struct igv_target *igc_target_streaming(const struct igv_target *target);

ingot_status igc_codegen(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                         const struct igv_target *target, const struct igc_job *job,
                         const struct igc_reflection *reflection, struct igc_code *code,
                         struct ig_error *error);

/* The same for a GPU: code->object is PTX text (compiler/nvptx/nvptx.c). */
ingot_status igc_codegen_nvptx(struct ig_arena *arena, LLVMModuleRef module, LLVMValueRef kernel,
                               const struct igv_target *target, const struct igc_job *job,
                               const struct igc_reflection *reflection, struct igc_code *code,
                               struct ig_error *error);

/* PTX → a cubin for one kind of card, "sm_90", by ptxas (compiler/nvptx/assemble.c). */
ingot_status igc_assemble(struct ig_arena *arena, const char *card, const void *ptx, size_t size,
                          const void **cubin, size_t *cubin_size, struct ig_error *error);

/* Before optimisation: approximations of the hardware in the fast forms of the maths library
 * (compiler/nvptx/maths.c). */
void igc_use_gpu_maths(LLVMModuleRef module);

/* ---- lines.c ----------------------------------------------------------------------------------
 */
struct igc_lines { /* all NULL for a kernel without debug information */
    LLVMDIBuilderRef builder;
    LLVMMetadataRef file, type;
    unsigned line; /* of the kernel */
};
void igc_lines_start(struct igc_lines *lines, LLVMModuleRef module, LLVMValueRef kernel);
/* What the debugger is told about one function, or NULL. */
LLVMMetadataRef igc_lines_describe(struct igc_lines *lines, const char *name, const char *symbol);
/* When all functions are there. */
void igc_lines_finish(struct igc_lines *lines, LLVMModuleRef module);
void igc_lines_free(struct igc_lines *lines);

/* Comparisons and intrinsics on half become float; nothing may fold them back (half.c). */
void igc_promote_half(LLVMModuleRef module);
/* masked.c: accesses by mask as accesses of every lane, for CPUs without them. */
void igc_unmask_memory(LLVMModuleRef module);

/* Tells LLVM which loads of the vectorised functions cannot fault (facts.c). */
void igc_add_facts(LLVMModuleRef module, const struct igc_reflection *reflection);

/* Marks leading bounds checks of a prepared kernel; true if there are any (bounds.c). */
bool igc_mark_bounds(LLVMModuleRef module, LLVMValueRef kernel);

/* INGOT_CPU_KERNEL_BYTES_PER_THREAD and _ARRAYS of a prepared kernel that runs by rows. */
ingot_status igc_find_streams(struct ig_arena *arena, const struct igv_request *request,
                              uint32_t *flags, struct ig_error *error);
/* A built-in that depends on the thread's place in the grid only, not on its threadgroup,
 * SIMD-group or neighbours (codegen.c). */
bool igc_is_grid_builtin(const char *name);

/* How the functions of one ids variant are put together (entries.c). */
struct igc_entry {
    LLVMValueRef full, any; /* igv_vectorise's results; either may be NULL */
    bool full_may_decline;  /* then `any` is there too */
};
/* Adds the dispatcher, the loop over SIMD-groups and the exported struct. Entries without any
 * function are absent variants. flags: of enum ingot_cpu_kernel_flags. */
void igc_build_entries(LLVMModuleRef module, const struct igc_entry entries[INGOT_CPU_IDS_COUNT],
                       uint32_t flags, uint32_t static_bytes, uint32_t stack_bytes,
                       const struct igv_target *target);
void igc_set_target_attributes(LLVMValueRef function, const struct igv_target *target);

/* ---- link.c ---------------------------------------------------------------------------------- */
/* Object in, shared object out (the arena's). */
/* What igc_link would find wrong, without linking. */
ingot_status igc_check_object(const void *object, size_t size, struct ig_error *error);
ingot_status igc_link(struct ig_arena *arena, const void *object, size_t object_size,
                      const void **shared, size_t *shared_size, struct ig_error *error);

/* ---- time_report.c ----------------------------------------------------------------------------
 */
void igc_time_start(void); /* nothing is kept without it */
double igc_time_now(void); /* processor time */
void igc_time_add(const char *stage, double seconds);
void igc_time_print(void);

#endif
