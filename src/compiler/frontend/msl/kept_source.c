/*
 * The source text that an archive keeps: the preprocessed text, with names of files in its line
 * markers that mean something on another machine.
 *
 * Requires the text that clang made, before or after it was lexed. Provides a copy in which files
 * of the prelude are called <prelude/NAME> and, where options->root is set, files below that folder
 * <NAME>, by their path from it. Other names stay as they are. Every line stays where it was, so
 * the text compiles as the first one does.
 */
#include <string.h>

#include "compiler/frontend/msl/clang.h"
#include "compiler/frontend/msl/tokens.h"

/* The name's part below the folder; NULL: it is not below it. */
static const char *below(const char *folder, const char *name, size_t size, size_t *left) {
    size_t length = folder ? strlen(folder) : 0;
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if (!length || size <= length || memcmp(name, folder, length) != 0 || name[length] != '/') {
        return NULL;
    }
    while (length < size && name[length] == '/') {
        length++;
    }
    *left = size - length;
    return name + length;
}

static void add_name(const struct igc_options *options, const char *name, size_t size,
                     struct ig_text *out) {
    size_t left;
    const char *part = below(options->prelude_dir, name, size, &left);
    if (part) {
        ig_text_printf(out, "<prelude/%.*s>", (int)left, part);
        return;
    }
    part = below(options->root, name, size, &left);
    if (part) {
        ig_text_printf(out, "<%.*s>", (int)left, part);
    } else {
        ig_text_append(out, name, size);
    }
}

const char *igc_kept_source(struct ig_arena *arena, const struct igc_options *options,
                            const char *text, size_t size) {
    struct ig_text out = {0};
    const char *end = text + size, *copied = text;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *name;
        size_t line_size, name_size;
        unsigned number;
        if (*line == '#' && igc_line_marker(line, end, &line_size, &number, &name, &name_size) &&
            name) {
            ig_text_append(&out, copied, (size_t)(name - copied));
            add_name(options, name, name_size, &out);
            copied = name + name_size;
        }
        line = newline ? newline + 1 : end;
    }
    ig_text_append(&out, copied, (size_t)(end - copied));
    const char *kept = out.failed ? NULL : ig_arena_copy(arena, ig_text_string(&out), out.size);
    ig_text_free(&out);
    return kept;
}
