/*
 * Passes: one kernel, tables of what is done to it, and the loop that runs them.
 *
 * A table lists passes in their order, each with a name, a line of description, and either a
 * function or a string of LLVM's own passes. igc_run_passes goes through it, and for each pass
 *   - asks `when` whether the kernel needs it,
 *   - leaves it out if $INGOT_SKIP names it,
 *   - adds its time to --time-report, and is what the message of a time limit names,
 *   - waits for a signal before it if $INGOT_PAUSE names it,
 *   - verifies the module if $INGOT_VERIFY is set, or at marks always,
 *   - prints the module to stderr if $INGOT_DUMP names it (or is "all"),
 *   - stops behind it if it is the one of `ingotc --emit NAME`.
 * The tables: middle/passes.c, cpu/passes.c, nvptx/passes.c. `ingotc --passes` prints them.
 *
 * igc_ is the prefix of the compiler as a whole: passes/, middle/, backend/, driver/ and frontend/.
 */
#ifndef INGOT_COMPILER_PASSES_H
#define INGOT_COMPILER_PASSES_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"

/* ---- the kernel ---------------------------------------------------------------------------- */
/* How much of the code is wanted. */
enum igc_wanted {
    IGC_WANT_CODE,     /* as an archive has it */
    IGC_WANT_CHECK,    /* made, but neither linked nor kept */
    IGC_WANT_NO_CODE,  /* everything but machine code, to find what is wrong */
    IGC_WANT_ASSEMBLY, /* as text */
};

/* Of `ingotc --emit NAME`. */
struct igc_emission {
    const char *pass; /* behind which the passes end */
    struct ig_text *text;
};

/* A kernel on its way. Who fills in what: driver/compile.c everything but the reflection, which is
 * middle/reflect.c's. A pass may replace module and function. */
struct igc_kernel {
    struct ig_arena *arena;
    const char *name; /* as the host calls it */
    LLVMContextRef context;
    LLVMModuleRef module;      /* with this kernel only, once it is isolated */
    LLVMValueRef function;     /* the kernel; NULL where a back end has made others of it */
    LLVMModuleRef unoptimised; /* as it was before the scalar passes; NULL where nobody keeps it */
    LLVMBuilderRef builder;
    LLVMTargetMachineRef machine; /* what LLVM's passes ask for costs */
    LLVMTargetDataRef layout;     /* the module's */
    LLVMTypeRef i1, i8, i32, i64;
    const struct igc_job *job;         /* middle/middle.h: what is asked of the kernel */
    struct igc_reflection *reflection; /* middle/middle.h: what the host must know */
    const struct igc_target *target;   /* backend/backend.h; NULL in the shared part */
    void *facts;                       /* the back end's own, zero at the start */
    uint32_t threadgroup_bytes;        /* of variables, once they have their places */
    uint32_t sanitize;                 /* kinds of checks that are asked for (base/sanitize.h) */
    struct igs_places *places;         /* sanitize/sanitize.h: what the checks are about */
    unsigned most_unrolled; /* instructions of a loop's copies; 0: as many as asked for */
    bool has_panels;        /* backend/backend.h */
    bool keeps_functions;   /* backend/backend.h */
    unsigned round;         /* of the passes that run in rounds, from 0 */
    enum igc_wanted wanted;
    const struct igc_emission *emission; /* NULL: none */
    bool unverified;                     /* changed since the last mark */
    bool ended;                          /* behind the pass of `emission` */
    struct ig_error *error;
};

/* ---- kernel.c ---- */
/* Sets module, and context, layout and types, which follow from it. */
void igc_kernel_set_module(struct igc_kernel *kernel, LLVMModuleRef module);
/* Gives the module the data layout and the triple of kernel->machine. */
void igc_kernel_set_target(struct igc_kernel *kernel);
ingot_status igc_out_of_memory(struct igc_kernel *kernel);
/* The kernel's instructions for which `wanted` holds, so that they can be replaced while walking.
 */
struct igc_list {
    LLVMValueRef *items;
    size_t count;
    bool failed; /* memory ran out */
};
struct igc_list igc_collect(struct igc_kernel *kernel,
                            bool (*wanted)(struct igc_kernel *kernel, LLVMValueRef instruction));
/* The attribute of functions that stay functions, with their number: from 0, and those that one
 * calls have lower ones. They take and give numbers, and touch no memory but their own. */
#define IGC_KEPT "ingot-kept"
unsigned igc_kept_number(LLVMValueRef function); /* IGI_NONE (ir/map.h): it is to be inlined */
/* The module's, by number; NULL when memory is out. */
LLVMValueRef *igc_kept_functions(struct igc_kernel *kernel, unsigned *count);
LLVMValueRef igc_integer(LLVMTypeRef type, uint64_t value);
LLVMValueRef igc_byte_offset(struct igc_kernel *kernel, LLVMValueRef pointer, uint64_t bytes);

/* ---- passes --------------------------------------------------------------------------------- */
enum igc_result {
    IGC_UNCHANGED, /* the module is as it was */
    IGC_CHANGED,   /* or may have changed */
    IGC_FAILED,    /* kernel->error says why */
};
typedef enum igc_result igc_pass_fn(struct igc_kernel *kernel);
typedef bool igc_when_fn(const struct igc_kernel *kernel);

struct igc_pass {
    const char *name;  /* NULL ends a table */
    const char *about; /* one line, for `ingotc --passes` and the documents */
    /* One of these three; none of them is a mark: a place with a name, where the module is always
     * verified. */
    igc_pass_fn *run;
    const char *llvm;             /* LLVM's names of passes, as `opt -passes=` takes them */
    const struct igc_pass *inner; /* a table that runs `rounds` times at most, */
    unsigned rounds;              /* 0: once, */
    igc_when_fn *until;           /* asked after each round; NULL: until the rounds are over */
    igc_when_fn *when;            /* the kernel needs the pass; NULL: each does */
    bool each_function;           /* `run` is for one function: the kernel's, and those that stay */
    bool if_changed;              /* and the pass before it in the table changed the module */
    /* What --emit shows instead of the module. */
    ingot_status (*print)(struct igc_kernel *kernel, struct ig_text *out);
};

ingot_status igc_run_passes(struct igc_kernel *kernel, const struct igc_pass *table);
/* For functions that keep no account of what they changed. */
static inline enum igc_result igc_result_of(ingot_status status) {
    return status ? IGC_FAILED : IGC_CHANGED;
}
/* LLVM's passes on the kernel's module, without name, time or verification. */
ingot_status igc_run_llvm(struct igc_kernel *kernel, const char *passes);
/* The same on any module, as the pass `name` of a table would run. */
ingot_status igc_stage(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name,
                       const char *passes, struct ig_error *error);
/* Does the table, or one inside it, have a pass of that name? */
bool igc_has_pass(const struct igc_pass *table, const char *name);
void igc_print_passes(const struct igc_pass *table, FILE *out);

/* ---- llvm.c --------------------------------------------------------------------------------- */
/* Sets LLVM up once per process: its options, and x86-64, which the front end compiles for. */
void igc_llvm_start(void);
/* What LLVM is to know of a processor. */
struct igc_processor {
    const char *triple, *cpu, *features;
};
ingot_status igc_processor_machine(const struct igc_processor *processor,
                                   LLVMTargetMachineRef *machine, struct ig_error *error);

/* ---- progress.c ----------------------------------------------------------------------------- */
/* In memory that a process shares with its children. */
struct igc_progress {
    _Atomic(const char *) stage; /* a literal: at the same address in all of them */
};
struct igc_progress *igc_progress_create(void); /* or NULL */
void igc_progress_free(struct igc_progress *progress);
void igc_progress_keep(struct igc_progress *progress); /* where this process says what it does */
void igc_progress_at(const char *stage);               /* a pass, or another stage: a literal */
/* NULL: this process. */
const char *igc_progress_stage(const struct igc_progress *progress);

/* ---- time_report.c -------------------------------------------------------------------------- */
void igc_time_start(void); /* nothing is kept without it */
double igc_time_now(void); /* processor time; 0 when nothing is kept */
void igc_time_add(const char *stage, double seconds);
void igc_time_print(void);
/* Steps of a stage whose number says how its time grows, whatever the machine. */
void igc_work_add(const char *stage, uint64_t steps);
uint64_t igc_work_of(const char *stage); /* so far */

#endif
