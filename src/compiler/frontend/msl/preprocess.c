/*
 * Preprocessing: clang -E, with the macros of Metal's library defined.
 *
 * Provides text with line markers in which directives other than pragmas are gone, and
 * macros in the arguments of unroll pragmas are replaced (clang -E leaves them, and
 * nobody knows the macros afterwards: hence -dD). Every line stays where it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "compiler/bundled/bundled.h"
#include "compiler/frontend/msl/clang.h"
#include "compiler/frontend/msl/macros.h"
#include "compiler/frontend/msl/rewriter.h"

/* ---- the command ------------------------------------------------------------------------------
 */
static const char *folder_of(struct ig_arena *arena, const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!slash) {
        return ".";
    }
    return slash == path ? "/" : ig_arena_copy(arena, path, (size_t)(slash - path));
}

static const char **command(struct ig_arena *arena, const struct igc_options *options) {
    static const char *const fixed[] = {
        IGC_AS_CLANG,
        "-E",
        "-dD",
        "-undef",
        "-x",
        "c++",
        "-std=c++17",
        "-triple",
        "x86_64-linux-gnu",
        "-nostdsysteminc",
        "-nobuiltininc",
        "-fno-caret-diagnostics",
        "-D__clang__=1",
        "-Wno-everything",
    };
    size_t count = sizeof fixed / sizeof *fixed;
    size_t limit = count + 12 + 2 * (options->include_dir_count + options->define_count);
    const char **arguments = ig_arena_array(arena, limit, sizeof *arguments);
    if (!arguments) {
        return NULL;
    }
    size_t n = 0;
    arguments[n++] = options->clang;
    for (size_t i = 0; i < count; i++) {
        arguments[n++] = fixed[i];
    }
    arguments[n++] = "-iquote";
    arguments[n++] = folder_of(arena, options->source_name);
    for (size_t i = 0; i < options->include_dir_count; i++) {
        arguments[n++] = "-I";
        arguments[n++] = options->include_dirs[i];
    }
    arguments[n++] = "-internal-isystem";
    arguments[n++] = options->prelude_dir;
    if (options->msl_version) {
        arguments[n++] = ig_arena_printf(arena, "-D__METAL_VERSION__=%u", options->msl_version);
    }
    if (options->fast_math) {
        arguments[n++] = "-D__FAST_MATH__=1";
    }
    for (size_t i = 0; i < options->define_count; i++) {
        arguments[n++] = "-D";
        arguments[n++] = options->defines[i];
    }
    arguments[n++] = "-include";
    arguments[n++] = "ingot_macros.h";
    arguments[n++] = "-";
    arguments[n] = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!arguments[i]) {
            return NULL;
        }
    }
    return arguments;
}

static bool starts_with(const char *line, const char *end, const char *prefix) {
    size_t size = strlen(prefix);
    return (size_t)(end - line) >= size && memcmp(line, prefix, size) == 0;
}

/* Copies clang's output line by line without definitions, expanding unroll pragmas. */
static bool clean(const char *text, size_t size, struct ig_text *out) {
    struct igc_macros macros = {0};
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        if (starts_with(line, stop, "#define ")) {
            igc_macro_define(&macros, line, stop);
        } else if (starts_with(line, stop, "#pragma unroll") ||
                   starts_with(line, stop, "#pragma clang loop")) {
            igc_macro_expand(&macros, line, stop, out);
        } else if (!starts_with(line, stop, "#undef ")) {
            ig_text_append(out, line, (size_t)(stop - line));
        }
        ig_text_append(out, "\n", 1);
        line = newline ? newline + 1 : end;
    }
    bool ok = !macros.failed && !out->failed;
    igc_macros_free(&macros);
    return ok;
}

/* ---- dependencies
 * -------------------------------------------------------------------------------------- */
struct dependencies {
    struct ig_arena *arena;
    const struct igc_options *options;
    struct ig_dependency *items;
    size_t count, capacity;
};

/* Line markers have a backslash before quotes and backslashes. */
static void undo_escapes(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++) {
        if (*from == '\\' && from[1]) {
            from++;
        }
        *to++ = *from;
    }
    *to = 0;
}

static ingot_status add_dependency(struct dependencies *list, const char *name, size_t size,
                                   struct ig_error *error) {
    size_t prelude = strlen(list->options->prelude_dir);
    if (size == 0 || name[0] == '<' ||
        (size > prelude && memcmp(name, list->options->prelude_dir, prelude) == 0) ||
        (strlen(list->options->source_name) == size &&
         memcmp(list->options->source_name, name, size) == 0)) {
        return INGOT_OK;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strlen(list->items[i].path) == size && memcmp(list->items[i].path, name, size) == 0) {
            return INGOT_OK;
        }
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity * 2 + 16;
        struct ig_dependency *items = ig_arena_array(list->arena, capacity, sizeof *items);
        if (!items) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the included files");
        }
        if (list->count) {
            memcpy(items, list->items, list->count * sizeof *items);
        }
        list->items = items;
        list->capacity = capacity;
    }
    char *path = ig_arena_copy(list->arena, name, size);
    if (!path) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the included files");
    }
    undo_escapes(path);
    char *bytes;
    size_t bytes_size;
    struct ig_error ignored = {0};
    if (ig_file_read(path, 0, &bytes, &bytes_size, &ignored) != INGOT_OK) {
        ig_error_clear(&ignored); /* a name that only a #line directive made up */
        return igc_is_special_file(path)
                   ? ig_fail(error, INGOT_COMPILE_ERROR,
                             "%s: %s: cannot be included: it is not a regular file",
                             list->options->source_name, path)
                   : INGOT_OK;
    }
    struct ig_dependency *item = &list->items[list->count++];
    struct ig_hash hash;
    item->path = path;
    item->size = bytes_size;
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, bytes, bytes_size);
    ig_hash_end(&hash, item->digest);
    free(bytes);
    return INGOT_OK;
}

static ingot_status find_dependencies(struct dependencies *list, const char *text, size_t size,
                                      struct ig_error *error) {
    const char *end = text + size;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *name;
        size_t line_size, name_size;
        unsigned number;
        if (igc_line_marker(line, end, &line_size, &number, &name, &name_size) && name) {
            ingot_status status = add_dependency(list, name, name_size, error);
            if (status != INGOT_OK) {
                return status;
            }
        }
        line = newline ? newline + 1 : end;
    }
    return INGOT_OK;
}

/* ---- all of it
 * -------------------------------------------------------------------------------------------- */
static ingot_status report(const struct igc_options *options, const char *source, size_t size,
                           const struct ig_process_result *result, struct ig_error *error) {
    struct ig_text message = {0};
    igc_format_diagnostics(options->source_name, source, size, ig_text_string(&result->errors),
                           &message);
    ingot_status status = message.size > 0
                              ? ig_fail(error, INGOT_COMPILE_ERROR, "%s", ig_text_string(&message))
                              : igc_clang_broken(options, result, "-E", error);
    ig_text_free(&message);
    return status;
}

ingot_status igc_preprocess(struct ig_arena *arena, const struct igc_options *options,
                            const char *source, size_t size, struct igc_preprocessed *out,
                            struct ig_error *error) {
    struct ig_text input = {0}, cleaned = {0};
    struct ig_process_result result = {0};
    ig_text_printf(&input, "# 1 \"%s\"\n", options->source_name);
    ig_text_append(&input, source, size);
    struct ig_process process = {.arguments = command(arena, options),
                                 .inside = igc_bundled_inside(options->clang),
                                 .input = input.data,
                                 .input_size = input.size,
                                 .seconds = (double)IG_COMPILE_CLOCK * options->limits.seconds,
                                 .processor_seconds = options->limits.seconds};
    ingot_status status = igc_check_includes(arena, options, source, size, error);
    if (status) {
        ig_text_free(&input);
        return status;
    }
    if (!process.arguments || input.failed) {
        ig_text_free(&input);
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to preprocess %s",
                       options->source_name);
    }
    status = ig_process_run(&process, &result, error);
    ig_text_free(&input);
    if (status != INGOT_OK) {
        return status;
    }
    if (result.timed_out || result.signal || result.exit_code != 0) {
        status = report(options, source, size, &result, error);
    } else if (!clean(ig_text_string(&result.output), result.output.size, &cleaned)) {
        status =
            ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to preprocess %s", options->source_name);
    } else {
        struct dependencies list = {.arena = arena, .options = options};
        out->text = ig_arena_copy(arena, ig_text_string(&cleaned), cleaned.size);
        out->size = cleaned.size;
        status = out->text ? find_dependencies(&list, out->text, out->size, error)
                           : ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to preprocess %s",
                                     options->source_name);
        out->dependencies = list.items;
        out->dependency_count = list.count;
    }
    ig_text_free(&cleaned);
    ig_process_result_free(&result);
    return status;
}
