/*
 * The front ends: Metal source (msl/) or what Apple's compiler made of it (air/) in, LLVM bitcode
 * out.
 *
 * Metal source becomes C++ that stock clang accepts:
 *   pragmas → clang -E → lex → rewrite → clang -cc1 (with the prelude's PCH) → bitcode
 *
 * Contract of the bitcode for one kernel: a function with annotation "ingot.kernel:NAME",
 * whose LLVM parameters are unused. Its body starts with the calls of ingot_builtins.h that
 * fetch each parameter (`device T *x = __ingot_parameter<decltype(x), …>(…)`), so types,
 * sizes, positions and names are clang's own knowledge, also inside templates.
 */
#ifndef INGOT_COMPILER_FRONTEND_H
#define INGOT_COMPILER_FRONTEND_H

#include "base/archive.h"
#include "base/arena.h"
#include "base/compile_limits.h"
#include "base/error.h"
#include "base/text.h"

struct igc_options {
    const char *source_name; /* for diagnostics */
    const char *const *include_dirs;
    size_t include_dir_count;
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    size_t define_count;
    bool fast_math;
    bool werror;             /* warnings are errors */
    bool for_debuggers;      /* with what a debugger wants to know of variables and types */
    unsigned msl_version;    /* 320 */
    const char *clang;       /* program to run; found by igc_find_clang */
    const char *prelude_dir; /* holds metal_stdlib, ingot_builtins.h, … */
    const char *cache_dir;   /* base/cache.h: where prelude PCHs are kept; "" = none */
    struct ig_compile_limits limits;
    bool keeps_modules; /* in the cache: the same kernels will be asked for again */
    bool exports;       /* other sources may call its functions, or it theirs */
    bool members;       /* kernels report the members of structs behind their parameters too */
    const char *root;   /* files below it are named from there in what is kept; or NULL */
};

struct igc_source { /* one preprocessed and analysed source */
    struct ig_arena *arena;
    const char *preprocessed; /* with line markers; a later compile can start here */
    size_t kernel_count;
    const char *const *kernels; /* host names, in source order */
    size_t plain_count;
    const char *const *plain_kernels; /* those that use nothing unsupported */
    size_t constant_count;
    const struct ig_constant *constants;
    size_t dependency_count;
    const struct ig_dependency *dependencies;
    struct igc_rewriter *rewriter; /* tokens and marks; NULL for a compiled library */
    struct igc_air *air;           /* a compiled library; NULL for Metal source */
};

/* With --werror: fails with the warnings, each as an error. */
ingot_status igc_fail_for_warnings(const char *warnings, struct ig_error *error);

/* Named metadata of modules that Apple's compiler has optimised: their blocks are not clang's. */
#define IGC_AIR_MARK "ingot.air"
/* How the text of a compiled module begins, which an archive keeps as its source. */
#define IGC_AIR_TEXT_PREFIX "//ingot: a compiled Metal module in base64"

/* $INGOT_CLANG, ingotc itself (bundled/), clang-19, -20, or -21; the path is the arena's.
 * INGOT_NO_COMPILER, with how to get one, when there is none of a supported version. */
ingot_status igc_find_clang(struct ig_arena *arena, const char **clang, struct ig_error *error);

/* Preprocesses and lexes; finds kernels and function constants. `text` is Metal source, or
 * (when preprocessed) the text of an earlier igc_source. */
ingot_status igc_source_open(struct ig_arena *arena, const struct igc_options *options,
                             const char *text, size_t size, bool preprocessed,
                             struct igc_source *source, struct ig_error *error);

/* The function constants that kernels of a compiled library have, into source->constants: each
 * kernel's module has its own. Does nothing for Metal source, whose constants igc_source_open
 * finds. */
ingot_status igc_source_find_constants(struct igc_source *source, const struct igc_options *options,
                                       const char *const *kernels, size_t kernel_count,
                                       struct ig_error *error);

/* The C++ for clang: only the kernels named (NULL, 0 = all), other instantiations and kernel
 * definitions dropped. For tests, `ingotc --emit-cpp`, and the step below. */
ingot_status igc_source_rewrite(struct igc_source *source, const char *const *kernels,
                                size_t kernel_count, const char **cpp, size_t *cpp_size,
                                struct ig_error *error);

struct igc_compiled { /* all the arena's */
    const void *bitcode;
    size_t size;
    const char *warnings; /* "" if there are none */
};

/* Runs clang -cc1 on the rewritten source. On errors returns INGOT_COMPILE_ERROR with diagnostics
 * in the user's own file:line:col and a caret. */
ingot_status igc_source_compile(struct igc_source *source, const struct igc_options *options,
                                const char *const *kernels, size_t kernel_count,
                                struct igc_compiled *compiled, struct ig_error *error);

/* The bitcode of prelude/air/library.metal, opened as `source`, as the AIR front end links it. */
ingot_status igc_air_make_library(struct igc_source *source, const struct igc_options *options,
                                  const void **bytes, size_t *size, struct ig_error *error);

/* A call that is not allowed, by clang's debug location: fails with INGOT_COMPILE_ERROR and a
 * diagnostic at the callee's name in the user's source. `source` may be NULL. */
struct igc_call_place {
    const char *file; /* need not end in a NUL; nor need name */
    size_t file_size;
    unsigned line; /* 0: unknown */
    const char *name;
    size_t name_size; /* 0: nothing is named */
};
ingot_status igc_source_refuse_call(const struct igc_source *source,
                                    const struct igc_call_place *place, const char *reason,
                                    struct ig_error *error);

/* A place of clang's debug locations in the user's terms. */
struct igc_user_place {
    unsigned column;
    const char *text; /* the line, as the user wrote it where that is known; not ended by a NUL */
    size_t text_size;
};
/* False: the place is not known. `path` is the file with its folder, or as it was given. */
bool igc_source_place(const struct igc_source *source, const char *path, unsigned line,
                      unsigned column, struct igc_user_place *place);

/* Appends a warning at such a place, where it is in a file of the user's. */
void igc_source_warn_place(const struct igc_source *source, const char *path, unsigned line,
                           unsigned column, const char *message, struct ig_text *out);
/* Has Metal source a member function of that name (size 0: an operator) for objects in the space?
 */
bool igc_source_has_member(const struct igc_source *source, const char *name, size_t size,
                           unsigned space);
/* Of Metal source; 0: it is something else. */
unsigned igc_source_msl_version(const struct igc_source *source);

/* Is the parameter there only when a function constant says so? */
bool igc_source_is_conditional(const struct igc_source *source, const char *kernel,
                               const char *parameter);
/* Fails with INGOT_COMPILE_ERROR, or appends a warning, at a kernel's parameter (NULL: at its
 * name) in the user's source. Without a source there is the message alone. */
ingot_status igc_source_refuse(const struct igc_source *source, const char *kernel,
                               const char *parameter, struct ig_error *error, const char *format,
                               ...) __attribute__((format(printf, 5, 6)));
void igc_source_warn(const struct igc_source *source, const char *kernel, const char *parameter,
                     struct ig_text *out, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Vector types as the prelude's users write them: vec<float, 4>, not the class behind it. */
void igc_vector_names(const char *text, size_t size, struct ig_text *out);

/* The text of a source file, or ("-") of stdin, without a byte-order mark. */
ingot_status igc_read_source(struct ig_arena *arena, const char *path, const char **text,
                             size_t *size, struct ig_error *error);

#endif
