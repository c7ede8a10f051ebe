/*
 * Back ends: what makes code for one family of processors of a scalar kernel.
 *
 * A back end is a struct igc_backend, which its folder defines, and a line in driver/backends.c. It
 * brings targets (levels of processors), a table of passes, a function that makes code of the
 * module that these leave, and one that makes of the code what an archive keeps. Nothing outside
 * its folder asks which back end or target it has before it; see "How to add a back end" in the
 * documents, and tests/unit/test_backend.c for one of a hundred lines.
 */
#ifndef INGOT_COMPILER_BACKEND_H
#define INGOT_COMPILER_BACKEND_H

#include "compiler/middle/middle.h"
#include "compiler/passes/passes.h"

/* A level of processors. Back ends that must know more of one have a struct of their own that
 * begins with this one. */
struct igc_target {
    const char *name;               /* in --target and in archives: "x86-64-v4", "sm_90.cubin" */
    struct igc_processor processor; /* LLVM's names */
    const struct igc_backend *backend;
    const char *form_of; /* the level whose code this is in another form: "sm_90"; or NULL */
    /* Only for what asks for it by name, where there is another target of the back end. */
    bool is_special;
};

/* What a back end makes of a kernel: bytes in the kernel's arena. */
struct igc_code {
    const void *bytes;
    size_t size;
};

struct igc_backend {
    const char *name;  /* that of the device: "cpu"; in .variants files "cpu:" */
    const char *about; /* of its targets, a line or two for `ingotc --help` */
    const struct igc_target *const *targets; /* NULL-terminated */
    /* Sets LLVM up for the targets; called before every use, so the second time must do nothing.
     * NULL: x86-64, which there always is, is enough. */
    void (*start)(void);
    /* What this machine can run best; NULL: not a back end for the machine that compiles. */
    const struct igc_target *(*host)(void);
    /* What to try when LLVM is defeated by a target's code (an internal error), or NULL. The code
     * is the target's all the same: each of its processors must run it. */
    const struct igc_target *(*fallback)(const struct igc_target *target);

    /* Before the scalar passes (middle/passes.c), on a module of the back end's own, without a
     * target; or NULL. */
    const struct igc_pass *early;
    /* From the scalar kernel to the module that code is made of. The kernel has a target, its
     * machine, a module (a clone, to be used up) and facts. */
    const struct igc_pass *passes;
    unsigned most_unrolled; /* instructions of all copies of a loop; 0: as many as are asked for */
    bool has_panels;        /* threadgroup memory of the compiler's own (ir/builtins.def) */
    bool keeps_functions;   /* takes functions that are not inlined (middle/keep_functions.c) */
    bool has_checks;        /* makes code of the sanitizer's */
    bool for_debuggers;     /* wants all that the front end can tell of variables and types */
    size_t facts_size;      /* of kernel->facts */
    void (*free_facts)(struct igc_kernel *kernel); /* what is in them; or NULL */

    /* Code of kernel->module, or assembly where that is wanted: kernel->wanted. */
    ingot_status (*make_code)(struct igc_kernel *kernel, struct igc_code *code);
    /* As an archive keeps it, or (IGC_WANT_CHECK) what would be wrong with it then. NULL: it is as
     * it should be. */
    ingot_status (*package)(struct igc_kernel *kernel, struct igc_code *code);
};

/* ---- compile.c ---------------------------------------------------------------------------------
 */
/* A copy of the scalar kernel goes through the passes of the target's back end, and becomes code;
 * code->bytes is NULL if none is wanted. *threadgroup_bytes becomes that of the target if it is
 * less. */
ingot_status igc_compile_for(const struct igc_kernel *scalar, const struct igc_target *target,
                             struct igc_code *code, uint32_t *threadgroup_bytes);
/* What LLVM's passes and code generator ask about the target. */
ingot_status igc_machine_create(const struct igc_target *target, LLVMTargetMachineRef *machine,
                                struct ig_error *error);

/* ---- machine_code.c ----------------------------------------------------------------------------
 */
struct igc_module_size {
    unsigned instructions, blocks, longest_block;
};

/* Machine code in a child process with a limit of CPU time. There, `choose` (or NULL) may set LLVM
 * up differently and return another machine, and `reduce` (or NULL) may change LLVM's options and
 * the module so that a large one takes no quadratic time. */
struct igc_code_options {
    LLVMTargetMachineRef (*choose)(LLVMModuleRef module, LLVMTargetMachineRef machine);
    void (*reduce)(LLVMModuleRef module, const struct igc_module_size *size);
    bool assembly;
};
ingot_status igc_emit_guarded(LLVMModuleRef module, LLVMTargetMachineRef machine,
                              const struct igc_code_options *options, LLVMMemoryBufferRef *out,
                              struct ig_error *error);
/* The same for a kernel, with the code in its arena. */
ingot_status igc_make_machine_code(struct igc_kernel *kernel,
                                   const struct igc_code_options *options, struct igc_code *code);

/* ---- long_blocks.c -----------------------------------------------------------------------------
 */
/* Cuts blocks into pieces of `length` to twice as many instructions. */
void igc_cut_long_blocks(LLVMModuleRef module, unsigned length);

#endif
