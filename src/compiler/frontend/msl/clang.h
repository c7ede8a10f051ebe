/* Running clang: the preprocessor, the prelude's precompiled header, the compiler proper. */
#ifndef INGOT_COMPILER_FRONTEND_CLANG_H
#define INGOT_COMPILER_FRONTEND_CLANG_H

#include "base/process.h"
#include "compiler/frontend/frontend.h"

struct igc_preprocessed { /* all the arena's */
    const char *text;     /* with line markers */
    size_t size;
    const struct ig_dependency *dependencies; /* files included, the prelude's own left out */
    size_t dependency_count;
};

/* clang -E. */
ingot_status igc_preprocess(struct ig_arena *arena, const struct igc_options *options,
                            const char *source, size_t size, struct igc_preprocessed *result,
                            struct ig_error *error);

/* includes.c: fails where the source, or a file that it includes, includes a FIFO, device or
 * socket.
 */
ingot_status igc_check_includes(struct ig_arena *arena, const struct igc_options *options,
                                const char *text, size_t size, struct ig_error *error);
/* Is there such a file? */
bool igc_is_special_file(const char *path);

/* The text as an archive keeps it: its line markers name files as on any machine. NULL: no memory.
 */
const char *igc_kept_source(struct ig_arena *arena, const struct igc_options *options,
                            const char *text, size_t size);

/* Can the source be lexed and compiled without igc_preprocess? */
bool igc_is_direct(const struct igc_options *options, const char *text, size_t size);

/* What a rewritten source is: C++23 has `this T &self` parameters and template arguments that are
 * structs. Each has its own precompiled prelude. */
enum igc_dialect { IGC_CXX17, IGC_CXX23, IGC_CXX23_TENSORS /* with tensors in the prelude */ };

struct igc_clang_result {
    bool ok;
    const void *bitcode; /* the arena's; when ok */
    size_t bitcode_size;
    const char *messages; /* clang's stderr */
    bool user_places;     /* the places in them are the user's already */
};

/* clang -cc1 on rewritten source. Fails only when clang could not do its work at all; an
 * error in the source is ok = false. */
ingot_status igc_clang_compile(struct ig_arena *arena, const struct igc_options *options,
                               const char *cpp, size_t size, enum igc_dialect dialect,
                               struct igc_clang_result *result, struct ig_error *error);

/* kept_module.c: what clang made of a text, with that precompiled header. */
void igc_kept_module_key(const struct igc_options *options, const char *pch, const char *cpp,
                         size_t size, char hex[65]);
bool igc_kept_module_find(struct ig_arena *arena, const struct igc_options *options,
                          const char *hex, struct igc_clang_result *result);
void igc_kept_module_keep(const struct igc_options *options, const char *hex,
                          const struct igc_clang_result *result);

/* "clang … was killed by signal 9" and the like, as an error. */
ingot_status igc_clang_broken(const struct igc_options *options,
                              const struct ig_process_result *result, const char *step,
                              struct ig_error *error);

#endif
