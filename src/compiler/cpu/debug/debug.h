/*
 * Code for debuggers: an unoptimised kernel that runs thread by thread.
 *
 * Requires what the front end gives when it is told that it is for debuggers: clang's code with all
 * variables in memory and described. The functions stay as clang made them, with their lines, their
 * order of blocks and their variables. Built-ins become functions that store their operands, and
 * call code that the vectoriser made of the same built-in for 32 lanes: for one lane, or for those
 * that have met at the place (docs/design/debugger.md).
 *
 * The prefix is igd_.
 */
#ifndef INGOT_COMPILER_CPU_DEBUG_H
#define INGOT_COMPILER_CPU_DEBUG_H

#include "compiler/cpu/cpu.h"

extern const struct igc_backend igd_backend;

/* Of the module, in the order of passes.c. */
igc_pass_fn igd_keep_unoptimised; /* a copy, before the scalar passes */
igc_pass_fn igd_take_unoptimised; /* which takes the place of what these made */
igc_pass_fn igd_define_missing;   /* functions and constants that only code that never runs uses */
igc_pass_fn igd_hide_prelude;     /* its functions have no lines, so debuggers step over them */
igc_pass_fn igd_meet_in_loops;    /* lanes meet at the end of iterations */
igc_pass_fn igd_define_builtins;
igc_pass_fn igd_keep_arithmetic; /* divisions that never trap, contraction */
igc_pass_fn igd_define_rounding; /* to bfloat */
igc_pass_fn igd_build_entry;     /* what the runtime calls */

/* ---- helpers.c ---- */
/* The built-in as a function of type ingot_cpu_simdgroup_fn named igd_helper_name, in kernel's
 * module: lane i takes its operands from what IGD_OPERANDS[i] points to, in slots of 8 bytes, and
 * stores its result behind them. */
ingot_status igd_make_helpers(struct igc_kernel *kernel, const LLVMValueRef *builtins,
                              size_t count);
const char *igd_helper_name(struct ig_arena *arena, LLVMValueRef builtin);
#define IGD_OPERANDS "ingot_operands"
enum { IGD_SLOT = 8 }; /* bytes of an operand */

/* ---- meetings.c ---- */
/* A call of services->meet at the builder; the group of the thread that runs. */
void igd_build_meet(struct igc_kernel *kernel, LLVMValueRef operation, LLVMValueRef operands,
                    LLVMValueRef kind);
/* A field of IGC_DEBUG_THREAD, as `type`. */
LLVMValueRef igd_thread_field(struct igc_kernel *kernel, LLVMTypeRef type, uint64_t offset);
/* The entry of services at that offset. */
LLVMValueRef igd_service(struct igc_kernel *kernel, LLVMValueRef group, uint64_t offset);
/* Some zeros. An argument points there that optimised code never reads, and that need not be bound:
 * without optimisation, references are read all the same. */
LLVMValueRef igd_unbound(struct igc_kernel *kernel);
/* Keeps its frame pointer, by which lanes compare where they are. */
void igd_keep_frame(struct igc_kernel *kernel, LLVMValueRef function);

#endif
