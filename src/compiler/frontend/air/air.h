/*
 * The front end for what Apple's compiler made: AIR, LLVM bitcode with Apple's own functions and
 * metadata.
 *
 *   container (base/metallib.h) → bitcode → our address spaces → arguments from !air.kernel → air.*
 * functions → bitcode
 *
 * Provides what the MSL front end provides (frontend.h): a module with a function annotated
 * "ingot.kernel:NAME" that begins with the calls of ingot_builtins.h which fetch each parameter.
 * Function constants are external globals
 * __ingot_fc_INDEX. Apple's code is optimised already: its blocks are not clang's, and the passes
 * that rely on those (middle/loop_exits.c) leave it alone, which the named metadata IGC_AIR_MARK
 * tells them.
 *
 * Prefix of this folder: iga_.
 */
#ifndef INGOT_COMPILER_FRONTEND_AIR_H
#define INGOT_COMPILER_FRONTEND_AIR_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "base/metallib.h"
#include "compiler/frontend/frontend.h"
#include "compiler/ir/builtins.h"

/* One kernel on its way. */
struct iga_module {
    struct ig_arena *arena;
    const char *name;   /* of the kernel */
    const char *source; /* of the library, for messages */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMModuleRef library; /* prelude/air/library.metal, compiled; linked at the end */
    struct ig_error *error;
};

/* ---- module.c ---- */
/* Bitcode → a module with our address spaces and data layout, without Apple's aliasing rules. */
ingot_status iga_parse(struct iga_module *m, const void *bitcode, size_t size);
/* Whoever made the file may have broken rules that everything behind this relies on. */
ingot_status iga_verify(struct iga_module *m);

/* LLVM's passes, by the names that `opt -passes=` takes. */
ingot_status iga_run_passes(LLVMModuleRef module, const char *passes, struct ig_error *error);

/* ---- metadata.c ---- */
enum iga_kind { IGA_BUFFER, IGA_POSITION, IGA_OTHER };
struct iga_argument {
    unsigned parameter; /* of the LLVM function */
    enum iga_kind kind;
    const char *role; /* "air.buffer", "air.thread_position_in_grid", … */
    const char *name, *type_name;
    uint32_t space; /* ingot_address_space */
    uint32_t index; /* of buffer(n) or threadgroup(n) */
    uint64_t size, align;
    bool is_reference, is_writable, is_unused;
    LLVMValueRef condition; /* the global that says whether the argument is there; NULL: it is */
};
struct iga_kernel {
    LLVMValueRef function;
    unsigned argument_count;
    struct iga_argument *arguments; /* by parameter */
    uint32_t max_threads;           /* 0: not said */
};
/* The names of the kernels of a module. */
ingot_status iga_kernel_names(struct iga_module *m, const char *const **names, size_t *count);
ingot_status iga_read_kernel(struct iga_module *m, struct iga_kernel *kernel);
/* The function constants of a module: names and indices, and the globals that hold them (or NULL:
 * not wanted). */
ingot_status iga_read_constants(struct iga_module *m, struct ig_constant **constants,
                                LLVMValueRef **globals, size_t *count);
/* ingot_scalar_type and components of "float4", "packed_half2", …; 0 and 0 for structs. */
void iga_scalar_type(const char *type_name, uint32_t *scalar, uint32_t *components);

/* ---- entry.c ---- */
#define IGA_ENTRY "ingot.air." /* what the names of entries begin with */
/* The kernel that the middle sees: it fetches each argument and calls Apple's function. */
ingot_status iga_add_entry(struct iga_module *m, const struct iga_kernel *kernel);

/* ---- functions.c, atomics.c, matrices.c ---- */
/* Gives every air.* function that the module calls a body, or says which one is not known. */
ingot_status iga_define_functions(struct iga_module *m);
/* The bodies of one family each: false when the name is none of theirs. The builder stands in an
 * empty entry block. */
bool iga_define_atomic(struct iga_module *m, LLVMValueRef function, const char *name);
bool iga_define_matrix(struct iga_module *m, LLVMValueRef function, const char *name);
/* Declarations of functions are a stranger's: what they take is asked first. */
bool iga_is_float(LLVMTypeRef type); /* float, half or bfloat */
bool iga_takes_pointer(LLVMValueRef function, unsigned position);
/* A call of a built-in, which is declared when it is not. */
LLVMValueRef iga_call_builtin(struct iga_module *m, enum igi_builtin builtin,
                              LLVMValueRef *operands, unsigned count);

/* ---- library.c ---- */
ingot_status iga_open_library(struct iga_module *m);
/* Uses m->library up. */
ingot_status iga_link_library(struct iga_module *m);

/* ---- tensors.c ---- */
/* Tensors get the sizes that the library, which is linked, says. */
ingot_status iga_settle_tensors(struct iga_module *m);

/* ---- source.c: frontend.h for compiled libraries ---- */
ingot_status iga_source_open(struct ig_arena *arena, const struct igc_options *options,
                             const char *text, size_t size, struct igc_source *source,
                             struct ig_error *error);
ingot_status iga_source_constants(struct igc_source *source, const struct igc_options *options,
                                  const char *const *kernels, size_t kernel_count,
                                  struct ig_error *error);
ingot_status iga_source_compile(struct igc_source *source, const struct igc_options *options,
                                const char *const *kernels, size_t kernel_count,
                                struct igc_compiled *compiled, struct ig_error *error);

/* Is this a compiled library, a module of one, or the text that iga_source_text made of one? */
bool iga_is_air(const char *text, size_t size);

#endif
