/*
 * The MSL front end: open, rewrite, compile. See frontend.h.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/msl/clang.h"
#include "compiler/frontend/msl/msl.h"
#include "compiler/frontend/msl/rewriter.h"

/* What clang got, what it gave, and warnings of rounds before the last. */
struct igc_translated {
    const char *cpp;
    size_t cpp_size;
    struct igc_clang_result result;
    struct ig_text warnings;
};

static ingot_status no_memory(const char *name, struct ig_error *error) {
    return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to compile %s", name);
}

/* A set of strings: open addressing, `capacity` a power of two above the number of names. */
static bool add_once(const char **set, size_t capacity, const char *name) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *p = name; *p; p++) {
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    }
    for (size_t i = (size_t)hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
        if (!set[i]) {
            set[i] = name;
            return true;
        }
        if (strcmp(set[i], name) == 0) {
            return false;
        }
    }
}

/* Kernel names in source order, each once. */
static bool list_kernels(struct igc_source *source) {
    struct igc_rewriter *rewriter = source->rewriter;
    const char **names = ig_arena_array(source->arena, rewriter->kernel_count + 1, sizeof *names);
    const char **plain = ig_arena_array(source->arena, rewriter->kernel_count + 1, sizeof *plain);
    size_t capacity = 16;
    while (capacity < 2 * rewriter->kernel_count) {
        capacity *= 2;
    }
    const char **set = ig_arena_array(source->arena, capacity, sizeof *set);
    if (!names || !plain || !set) {
        return false;
    }
    for (size_t i = 0; i < rewriter->kernel_count; i++) {
        struct igc_kernel *kernel = &rewriter->kernels[i];
        size_t where;
        if (!kernel->host_name || kernel->is_graphics) {
            continue;
        }
        kernel->is_again = !add_once(set, capacity, kernel->host_name);
        if (kernel->is_again) {
            continue;
        }
        names[source->kernel_count++] = kernel->host_name;
        if (!igc_unsupported(rewriter, kernel, &where)) {
            plain[source->plain_count++] = kernel->host_name;
        }
    }
    source->kernels = names;
    source->plain_kernels = plain;
    return true;
}

/* Each name once. Constants that share an index, and their type, share the value. */
static ingot_status list_constants(struct igc_source *source, struct ig_error *error) {
    const struct igc_rewriter *rewriter = source->rewriter;
    struct ig_constant *constants =
        ig_arena_array(source->arena, rewriter->constant_count + 1, sizeof *constants);
    if (!constants) {
        return no_memory(rewriter->tokens.files[0], error);
    }
    for (size_t i = 0; i < rewriter->constant_count; i++) {
        const struct igc_function_constant *constant = &rewriter->constants[i];
        bool again = false;
        for (size_t k = 0; k < source->constant_count && !again; k++) {
            if (constants[k].index != constant->info.index) {
                continue;
            }
            again = strcmp(constants[k].name, constant->info.name) == 0;
            if (constants[k].scalar != constant->info.scalar ||
                constants[k].components != constant->info.components) {
                return igc_fail_at(rewriter, constant->name, INGOT_COMPILE_ERROR, error,
                                   "%s has function constant index %u, which %s of another type "
                                   "has already: give each its own index",
                                   constant->info.name, constant->info.index, constants[k].name);
            }
        }
        if (!again) {
            constants[source->constant_count++] = constant->info;
        }
    }
    source->constants = constants;
    return INGOT_OK;
}

ingot_status igc_msl_open(struct ig_arena *arena, const struct igc_options *options,
                          const char *text, size_t size, bool preprocessed,
                          struct igc_source *source, struct ig_error *error) {
    const char *lexed;
    size_t lexed_size;
    ingot_status status;
    *source = (struct igc_source){.arena = arena};
    struct igc_rewriter *rewriter = ig_arena_alloc(arena, sizeof *rewriter);
    if (!rewriter) {
        return no_memory(options->source_name, error);
    }
    rewriter->arena = arena;
    rewriter->fast_math = options->fast_math;
    rewriter->msl_version = options->msl_version;
    rewriter->exports = options->exports;
    rewriter->members = options->members;
    source->rewriter = rewriter;
    if (preprocessed) {
        lexed = ig_arena_copy(arena, text ? text : "", size);
        lexed_size = size;
    } else {
        rewriter->main_text = ig_arena_copy(arena, text ? text : "", size);
        rewriter->main_size = size;
        if (!rewriter->main_text) {
            return no_memory(options->source_name, error);
        }
        lexed = rewriter->main_text;
        lexed_size = size;
        status = INGOT_OK;
        if (!igc_is_direct(options, lexed, size)) {
            struct igc_preprocessed made = {0};
            status = igc_preprocess(arena, options, rewriter->main_text, size, &made, error);
            lexed = made.text;
            lexed_size = made.size;
            source->dependencies = made.dependencies;
            source->dependency_count = made.dependency_count;
        }
        if (status != INGOT_OK) {
            return status;
        }
    }
    if (!lexed) {
        return no_memory(options->source_name, error);
    }
    source->preprocessed =
        preprocessed ? lexed : igc_kept_source(arena, options, lexed, lexed_size);
    if (!source->preprocessed) {
        return no_memory(options->source_name, error);
    }
    status = igc_lex(arena, lexed, lexed_size, options->source_name, &rewriter->tokens, error);
    if (status == INGOT_OK) {
        status = igc_find_kernels(rewriter, error);
    }
    if (status == INGOT_OK) {
        status = igc_find_constants(rewriter, error);
    }
    if (status != INGOT_OK) {
        return status;
    }
    if (!list_kernels(source)) {
        return no_memory(options->source_name, error);
    }
    return list_constants(source, error);
}

ingot_status igc_msl_rewrite(struct igc_source *source, const char *const *kernels,
                             size_t kernel_count, const char **cpp, size_t *cpp_size,
                             struct ig_error *error) {
    struct ig_text out = {0};
    ingot_status status = igc_rewrite(source->rewriter, kernels, kernel_count, &out, error);
    if (status == INGOT_OK) {
        *cpp = ig_arena_copy(source->arena, ig_text_string(&out), out.size);
        *cpp_size = out.size;
        source->rewriter->output = *cpp;
        source->rewriter->output_size = *cpp ? out.size : 0;
        source->rewriter->lines = NULL;
        if (!*cpp) {
            status = no_memory(source->rewriter->tokens.files[0], error);
        }
    }
    ig_text_free(&out);
    return status;
}

static enum igc_dialect dialect_of(const struct igc_rewriter *rewriter) {
    return rewriter->tensors            ? IGC_CXX23_TENSORS
           : rewriter->explicit_objects ? IGC_CXX23
                                        : IGC_CXX17;
}

/* Functions that the prelude has declared before cannot get internal linkage. */
static bool refuses_internal(const struct igc_rewriter *rewriter,
                             const struct igc_clang_result *result) {
    return !rewriter->exports && !result->ok && result->messages &&
           strstr(result->messages, IGC_INTERNAL);
}

/* clang on the rewritten source; once more where it found shifts that it folds wrongly. */
static ingot_status run_clang(struct igc_source *source, const struct igc_options *options,
                              const char *const *kernels, size_t kernel_count,
                              struct igc_translated *translated, struct ig_error *error) {
    enum { ROUNDS = 8 };
    source->rewriter->long_shifts = NULL; /* other kernels may have other constants */
    for (unsigned round = 0;; round++) {
        ingot_status status = igc_msl_rewrite(source, kernels, kernel_count, &translated->cpp,
                                              &translated->cpp_size, error);
        if (status == INGOT_OK) {
            status =
                igc_clang_compile(source->arena, options, translated->cpp, translated->cpp_size,
                                  dialect_of(source->rewriter), &translated->result, error);
        }
        if (status == INGOT_OK && refuses_internal(source->rewriter, &translated->result)) {
            source->rewriter->exports = true;
            continue;
        }
        if (status != INGOT_OK || translated->result.user_places || round == ROUNDS ||
            !igc_find_long_shifts(source->rewriter, translated->cpp, translated->cpp_size,
                                  translated->result.messages, &translated->warnings)) {
            return status;
        }
    }
}

ingot_status igc_msl_compile(struct igc_source *source, const struct igc_options *options,
                             const char *const *kernels, size_t kernel_count,
                             struct igc_compiled *compiled, struct ig_error *error) {
    struct igc_translated translated = {0};
    struct ig_text errors = {0}, *warnings = &translated.warnings;
    ingot_status status = run_clang(source, options, kernels, kernel_count, &translated, error);
    if (status != INGOT_OK) {
        ig_text_free(warnings);
        return status;
    }
    const struct igc_clang_result *result = &translated.result;
    if (result->user_places) {
        igc_format_diagnostics(options->source_name, source->rewriter->main_text,
                               source->rewriter->main_size, result->messages, &errors);
    } else {
        igc_translate_diagnostics(source->rewriter, translated.cpp, translated.cpp_size,
                                  options->prelude_dir, result->messages, &errors, warnings);
    }
    igc_warn_unportable(source->rewriter, warnings);
    compiled->warnings = ig_arena_copy(source->arena, ig_text_string(warnings), warnings->size);
    if (!compiled->warnings) {
        status = no_memory(options->source_name, error);
    }
    if (!result->ok) {
        if (errors.size > 0) {
            errors.data[--errors.size] = 0;
        }
        status = ig_fail(error, INGOT_COMPILE_ERROR, "%s", ig_text_string(&errors));
    } else if (options->werror && warnings->size > 0 && !status) {
        status = igc_fail_for_warnings(compiled->warnings, error);
    } else {
        compiled->bitcode = result->bitcode;
        compiled->size = result->bitcode_size;
    }
    ig_text_free(&errors);
    ig_text_free(warnings);
    return status;
}

/* Debug information may name a file from a folder it shares with the compiler's own. */
static bool is_file(const char *file, const struct igc_call_place *place) {
    size_t size = strlen(file);
    if (size < place->file_size ||
        memcmp(file + size - place->file_size, place->file, place->file_size) != 0) {
        return false;
    }
    return size == place->file_size || file[size - place->file_size - 1] == '/';
}

ingot_status igc_source_refuse_call(const struct igc_source *source,
                                    const struct igc_call_place *place, const char *reason,
                                    struct ig_error *error) {
    const struct igc_tokens *tokens = source && source->rewriter ? &source->rewriter->tokens : NULL;
    size_t best = IGC_NO_TOKEN;
    for (size_t i = 0; tokens && place->line && i < tokens->count; i++) {
        const struct igc_token *token = &tokens->items[i];
        if (token->line != place->line || !is_file(tokens->files[token->file], place)) {
            continue;
        }
        bool named = token->size == place->name_size &&
                     memcmp(token->text, place->name, place->name_size) == 0;
        bool definition = named && i > 0 && tokens->items[i - 1].kind == IGC_IDENTIFIER &&
                          !igc_is(&tokens->items[i - 1], "return");
        if (best == IGC_NO_TOKEN || named) {
            best = i;
        }
        if (named && !definition) {
            break;
        }
    }
    const char *quote = place->name_size ? "'" : "", *end = place->name_size ? "': " : "";
    if (best != IGC_NO_TOKEN) {
        return igc_fail_at(source->rewriter, best, INGOT_COMPILE_ERROR, error, "%s%.*s%s%s", quote,
                           (int)place->name_size, place->name, end, reason);
    }
    return ig_fail(error, INGOT_COMPILE_ERROR, "%.*s:%u: error: %s%.*s%s%s", (int)place->file_size,
                   place->file ? place->file : "", place->line, quote, (int)place->name_size,
                   place->name, end, reason);
}
