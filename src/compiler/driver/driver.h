/*
 * The driver of ingotc: its command line, the kernels of a source file one after the other or in
 * processes of their own, and the archive. The only folder that knows every back end (backends.c).
 *
 * The prefix igc_ is that of the compiler's shared parts: driver/, backend/, middle/, passes/ and
 * frontend/.
 */
#ifndef INGOT_COMPILER_DRIVER_H
#define INGOT_COMPILER_DRIVER_H

#include <stdio.h>

#include "base/text.h"
#include "compiler/backend/backend.h"
#include "compiler/frontend/frontend.h"
#include "compiler/middle/middle.h"

/* ---- backends.c, targets.c ----------------------------------------------------------------------
 */
extern const struct igc_backend *const igc_backends[];      /* NULL-terminated */
const struct igc_target *igc_target_find(const char *name); /* NULL if unknown */
const struct igc_target *igc_target_host(void);             /* what this machine can run best */
/* The levels of this machine's kind of CPU, the lowest first; NULL after the last. Code for all of
 * them runs on every machine of the kind. IGC_CPU_LEVELS is what --target calls them. */
#define IGC_CPU_LEVELS "cpu-levels"
const struct igc_target *igc_target_level(size_t index);
size_t igc_target_count(void); /* of all back ends */
/* All their names, with `between` between each two. */
void igc_target_names(struct ig_text *out, const char *between);
/* The tables of passes, each with a heading (--passes). */
void igc_print_tables(FILE *out);
/* Does any of the tables have a pass of that name? */
bool igc_is_pass(const char *name);

/* ---- options.c: the command line ----------------------------------------------------------------
 */
enum igc_emit {
    IGC_EMIT_ARCHIVE,
    IGC_EMIT_CPP,     /* what clang gets */
    IGC_EMIT_MEMBERS, /* of structs behind arguments: a line each, see describe.c */
    IGC_EMIT_PASS,    /* the module behind a pass */
    IGC_EMIT_ASM,
};

struct igc_command {
    const char *source_path; /* "-" is stdin */
    const char *output;
    struct igc_options front;
    const char *const *kernels; /* none: all */
    size_t kernel_count;
    const struct igc_target *const *targets; /* at least one */
    size_t target_count;
    const struct igc_value *values; /* ascending index */
    size_t value_count;
    const char *constants_key; /* the values as struct ig_variant spells them */
    uint32_t sanitize;         /* kinds of checks (base/sanitize.h) */
    const char *depfile;       /* where the included files are listed; NULL: nowhere */
    struct igc_others *others; /* sources that define what this one declares */
    const char *variants_path; /* instead of kernels and values; NULL: none */
    bool loose_alignment;      /* vectors may lie at any multiple of their elements */
    bool assumed_constants;    /* some of the values are guesses */
    bool preprocessed, list_only, describe_only, jit, time_report, progress, version, help, passes;
    bool no_source;   /* is kept in the archive */
    bool air_library; /* the output is the AIR front end's library, not an archive */
    bool check;       /* code is made, but neither linked nor kept */
    bool no_code;     /* nor made */
    bool pack_code;   /* in the archive */
    enum igc_emit emit;
    const char *emit_pass; /* of IGC_EMIT_PASS */
};

/* The text of --help. */
void igc_print_usage(FILE *out);
/* INGOT_INVALID_ARGUMENT with a sentence when the command line is wrong. */
ingot_status igc_command_parse(struct ig_arena *arena, int argc, char **argv,
                               struct igc_command *command, struct ig_error *error);
/* "0:01;7:00008040", of values in ascending index; NULL when memory is out. */
const char *igc_constants_key(struct ig_arena *arena, const struct igc_value *values, size_t count);
/* $INGOT_PRELUDE, ../share/ingot/prelude beside the program, or the source tree's. */
ingot_status igc_find_prelude(struct ig_arena *arena, const char **prelude, struct ig_error *error);

/* ---- pipeline.c: a source file ------------------------------------------------------------------
 */
/* The whole of ingotc after the command line; *warnings (the arena's) also when it fails. */
ingot_status igc_run(struct ig_arena *arena, struct igc_command *command, const char **warnings,
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
    const char *const *neighbours; /* what clang gets instead, if it takes them; or NULL */
    size_t neighbour_count;
    size_t first;            /* added to the position that `done` gets */
    struct ig_text *emitted; /* or NULL */
    igc_done_fn *done;
    void *context;
    /* Or NULL. Starts a process for a kernel: true in that process, which calls `end` instead of
     * going on to the next one; false in ours, when the kernel is done. */
    bool (*apart)(void *context, size_t position);
    void (*end)(void *context);
    bool limited; /* this process keeps to each kernel's time limit */
};
void igc_compile_batch(struct ig_arena *arena, const struct igc_batch *batch);

/* ---- time_limit.c ---- */
/* From now on; 0: none. */
void igc_limit_process(unsigned seconds);
/* Was it such a limit that ended a process by this signal? */
bool igc_limit_passed(int signal_number);
/* The same for a kernel, with a message at its end. */
void igc_limit_start(const struct ig_compile_limits *limits, const char *kernel);
void igc_limit_end(void);

/* ---- compile.c: one kernel ----------------------------------------------------------------------
 */
/* What the command asks of a kernel. */
struct igc_job igc_job_of(const struct igc_command *command, const struct igc_source *source,
                          const char *kernel);
/* From the front end's module (changed, not freed) to code for every target of the command;
 * `emitted` gets what --emit asks for. */
ingot_status igc_compile_module(struct ig_arena *arena, LLVMModuleRef module,
                                const struct igc_command *command, const struct igc_job *job,
                                struct ig_text *emitted, struct ig_variant *variant,
                                struct ig_error *error);

/* ---- describe.c
 * ---------------------------------------------------------------------------------- */
/* Reports every kernel of a clang run with its arguments and limits, but without code. */
void igc_describe_batch(struct ig_arena *arena, const struct igc_batch *batch, const void *bitcode,
                        size_t size, const char *warnings);

/* ---- jobs.c: several kernels, and many in child processes
 * ---------------------------------------- */
struct igc_batch_result {
    struct ig_variant *variants; /* of the kernels that were compiled */
    uint32_t variant_count;
    const char *warnings;
};
/* `done` and `context` of the batch are its own business. */
ingot_status igc_compile_all(struct ig_arena *arena, const struct igc_batch *wanted,
                             struct igc_batch_result *result, struct ig_error *error);
ingot_status igc_compile_few(struct ig_arena *arena, struct igc_source *source,
                             const struct igc_command *command, const char *const *kernels,
                             size_t kernel_count, struct igc_batch_result *result,
                             struct ig_error *error);
ingot_status igc_compile_many(struct ig_arena *arena, struct igc_source *source,
                              const struct igc_command *command, const char *const *kernels,
                              size_t kernel_count, struct igc_batch_result *result,
                              struct ig_error *error);

/* ---- variants.c: kernels and constants from a file
 * ----------------------------------------------- */
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

#endif
