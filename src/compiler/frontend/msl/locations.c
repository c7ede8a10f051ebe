/*
 * Where kernels and their parameters stand in the source, for what only the driver finds out:
 * messages of a kernel's arguments and limits. And where in the user's source a place is that a
 * debug location names by its column in the rewritten one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/msl/rewriter.h"

static bool same_text(const struct igc_tokens *tokens, size_t a, size_t b) {
    const struct igc_token *x = igc_at(tokens, a), *y = igc_at(tokens, b);
    return x->size == y->size && memcmp(x->text, y->text, x->size) == 0;
}

/* The name in the kernel's list of parameters: the last such word of one of them, outside of its
 * attributes. */
static size_t parameter_of(const struct igc_tokens *tokens, const struct igc_kernel *kernel,
                           const char *name) {
    if (kernel->open == IGC_NO_TOKEN) {
        return IGC_NO_TOKEN;
    }
    for (size_t p = kernel->open + 1, found = IGC_NO_TOKEN; p < kernel->close; p++) {
        size_t end = igc_list_item_end(tokens, p, kernel->close);
        for (; p < end; p++) {
            size_t after = igc_attribute_end(tokens, p);
            if (after > p) {
                p = after - 1;
            } else if (igc_is(igc_at(tokens, p), name)) {
                found = p;
            }
        }
        if (found != IGC_NO_TOKEN) {
            return found;
        }
    }
    return IGC_NO_TOKEN;
}

/* Of an instantiation the template has the names. */
static size_t find_place(const struct igc_rewriter *rewriter, const char *name,
                         const char *parameter) {
    const struct igc_tokens *tokens = &rewriter->tokens;
    const struct igc_kernel *kernel = NULL;
    for (size_t i = 0; i < rewriter->kernel_count && !kernel; i++) {
        if (rewriter->kernels[i].host_name && !strcmp(rewriter->kernels[i].host_name, name)) {
            kernel = &rewriter->kernels[i];
        }
    }
    if (!kernel || !parameter) {
        return kernel ? kernel->name : IGC_NO_TOKEN;
    }
    size_t place =
        kernel->is_instantiation ? IGC_NO_TOKEN : parameter_of(tokens, kernel, parameter);
    for (size_t i = 0; i < rewriter->kernel_count && place == IGC_NO_TOKEN; i++) {
        const struct igc_kernel *other = &rewriter->kernels[i];
        if (other->is_template && same_text(tokens, other->name, kernel->name)) {
            place = parameter_of(tokens, other, parameter);
        }
    }
    return place == IGC_NO_TOKEN ? kernel->name : place;
}

static size_t place_in(const struct igc_source *source, const char *kernel, const char *parameter) {
    return source && source->rewriter ? find_place(source->rewriter, kernel, parameter)
                                      : IGC_NO_TOKEN;
}

bool igc_source_is_conditional(const struct igc_source *source, const char *kernel,
                               const char *parameter) {
    size_t place = place_in(source, kernel, parameter);
    const struct igc_tokens *tokens = place == IGC_NO_TOKEN ? NULL : &source->rewriter->tokens;
    for (size_t p = place + 1, end; tokens && (end = igc_attribute_end(tokens, p)) > p;) {
        for (; p < end; p++) {
            if (igc_word_at(tokens, p) == IGC_W_FUNCTION_CONSTANT) {
                return true;
            }
        }
    }
    return false;
}

static char *print(const char *format, va_list arguments) {
    char *message;
    return vasprintf(&message, format, arguments) < 0 ? NULL : message;
}

ingot_status igc_source_refuse(const struct igc_source *source, const char *kernel,
                               const char *parameter, struct ig_error *error, const char *format,
                               ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = print(format, arguments);
    va_end(arguments);
    size_t place = place_in(source, kernel, parameter);
    ingot_status status =
        !message ? ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for an error message")
        : place == IGC_NO_TOKEN
            ? ig_fail(error, INGOT_COMPILE_ERROR, "%s", message)
            : igc_fail_at(source->rewriter, place, INGOT_COMPILE_ERROR, error, "%s", message);
    free(message);
    return status;
}

void igc_source_warn(const struct igc_source *source, const char *kernel, const char *parameter,
                     struct ig_text *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = print(format, arguments);
    va_end(arguments);
    size_t place = place_in(source, kernel, parameter);
    if (message && place != IGC_NO_TOKEN) {
        igc_warn_at(source->rewriter, place, message, out);
    } else if (message) {
        ig_text_printf(out, "warning: %s\n", message);
    }
    out->failed |= !message;
    free(message);
}

/* ---- places of debug locations ---- */

struct igc_output_line {
    const char *file; /* as the line marker has it */
    size_t file_size;
    unsigned line;
    size_t offset; /* in the output */
};

static int by_file_and_line(const void *a, const void *b) {
    const struct igc_output_line *x = a, *y = b;
    if (x->line != y->line) {
        return x->line < y->line ? -1 : 1;
    }
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Every line of the output, with the file and the line that its markers say. */
static bool list_lines(struct igc_rewriter *rewriter) {
    const char *text = rewriter->output, *end = text + rewriter->output_size;
    size_t count = 1;
    for (const char *p = text; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) {
        count++;
    }
    struct igc_output_line *lines = ig_arena_array(rewriter->arena, count, sizeof *lines);
    struct igc_output_line at = {.file = ""};
    rewriter->line_count = 0;
    for (const char *p = text; lines && p < end;) {
        size_t size;
        if (*p == '#' && igc_line_marker(p, end, &size, &at.line, &at.file, &at.file_size)) {
            p += size + 1;
            continue;
        }
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        at.offset = (size_t)(p - text);
        lines[rewriter->line_count++] = at;
        at.line++;
        p = newline ? newline + 1 : end;
    }
    if (lines) {
        qsort(lines, rewriter->line_count, sizeof *lines, by_file_and_line);
    }
    rewriter->lines = lines;
    return lines != NULL;
}

/* clang names files of its own folder from there. */
static bool ends_with(const char *path, const char *name, size_t size) {
    size_t length = strlen(path);
    return size <= length && !memcmp(path + length - size, name, size) &&
           (size == length || *name == '/' || path[length - size - 1] == '/');
}

static const struct igc_output_line *find_line(const struct igc_rewriter *rewriter,
                                               const char *path, unsigned line) {
    size_t low = 0, high = rewriter->line_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rewriter->lines[middle].line < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < rewriter->line_count && rewriter->lines[low].line == line; low++) {
        const struct igc_output_line *found = &rewriter->lines[low];
        if (found->file_size && ends_with(path, found->file, found->file_size)) {
            return found;
        }
    }
    return NULL;
}

/* The token that clang's place is in; or IGC_NO_TOKEN. */
static size_t token_at(const struct igc_source *source, const char *path, unsigned line,
                       unsigned column) {
    struct igc_rewriter *rewriter = source ? source->rewriter : NULL;
    if (!rewriter || !rewriter->output || !column || (!rewriter->lines && !list_lines(rewriter))) {
        return IGC_NO_TOKEN;
    }
    const struct igc_output_line *found = find_line(rewriter, path, line);
    size_t within, token = found
                               ? igc_token_of_offset(rewriter, found->offset + column - 1, &within)
                               : IGC_NO_TOKEN;
    return token != IGC_NO_TOKEN && igc_at(&rewriter->tokens, token)->line == line ? token
                                                                                   : IGC_NO_TOKEN;
}

bool igc_source_place(const struct igc_source *source, const char *path, unsigned line,
                      unsigned column, struct igc_user_place *place) {
    size_t token = token_at(source, path, line, column);
    return token != IGC_NO_TOKEN && igc_place_of_token(source->rewriter, token, place);
}

void igc_source_warn_place(const struct igc_source *source, const char *path, unsigned line,
                           unsigned column, const char *message, struct ig_text *out) {
    size_t token = token_at(source, path, line, column);
    if (token != IGC_NO_TOKEN) {
        igc_warn_at(source->rewriter, token, message, out);
    }
}

unsigned igc_source_msl_version(const struct igc_source *source) {
    return source && source->rewriter ? source->rewriter->msl_version : 0;
}
