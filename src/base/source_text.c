/*
 * One text of a source and the files that it includes: Metal's compiler at run time opens no files.
 *
 * Macros become lines of #define before the source. A line that includes a file which is found
 * beside the includer or in the given folders is replaced by that file; others (<metal_stdlib>)
 * stay, for Metal. Conditions are not evaluated: a file inside of #if is put inside of #if.
 * `#pragma once` becomes a guard. #line keeps names and lines right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/source_text.h"

enum { MOST_DEEP = 64 };
#define MOST_BYTES ((size_t)256 << 20)

struct expansion {
    const struct ig_source_text *from;
    struct ig_text *out;
    struct ig_error *error;
    int depth;
};

static ingot_status put_file(struct expansion *e, const char *name, const char *folder,
                             const char *text, size_t length);

static void put_line_mark(struct expansion *e, size_t line, const char *name) {
    ig_text_printf(e->out, "#line %zu \"", line);
    for (const char *c = name; *c; c++) {
        ig_text_printf(e->out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c == '\n' ? ' ' : *c);
    }
    ig_text_puts(e->out, "\"\n");
}

/* Behind "#" and the word, spaces allowed: NULL when the line is another one. */
static const char *directive(const char *line, const char *end, const char *word) {
    while (line < end && (*line == ' ' || *line == '\t')) {
        line++;
    }
    if (line == end || *line != '#') {
        return NULL;
    }
    line++;
    while (line < end && (*line == ' ' || *line == '\t')) {
        line++;
    }
    const size_t length = strlen(word);
    if ((size_t)(end - line) < length || memcmp(line, word, length) != 0) {
        return NULL;
    }
    line += length;
    while (line < end && (*line == ' ' || *line == '\t')) {
        line++;
    }
    return line;
}

static bool read_included(const char *folder, const char *file, char **path, char **text,
                          size_t *length) {
    struct ig_error ignored = {0};
    if (asprintf(path, "%s%s%s", *file == '/' ? "" : folder, *file == '/' ? "" : "/", file) < 0) {
        *path = NULL;
        return false;
    }
    if (ig_file_read(*path, MOST_BYTES, text, length, &ignored) == INGOT_OK) {
        return true;
    }
    ig_error_clear(&ignored);
    free(*path);
    return false;
}

/* Quoted files are looked for beside the includer first. */
static bool find_included(const struct expansion *e, const char *folder, const char *file,
                          bool is_quoted, char **path, char **text, size_t *length) {
    const struct ig_source_text *from = e->from;
    if (is_quoted && folder && read_included(folder, file, path, text, length)) {
        return true;
    }
    for (size_t i = 0; i < from->include_dir_count; i++) {
        if (read_included(from->include_dirs[i], file, path, text, length)) {
            return true;
        }
    }
    return from->own_folder && read_included(from->own_folder, file, path, text, length);
}

/* True when the line was an include of a file that is here; *status is how that went. */
static bool put_include(struct expansion *e, const char *folder, const char *line, const char *end,
                        ingot_status *status) {
    const char *open = directive(line, end, "include");
    if (!open || open == end || (*open != '"' && *open != '<')) {
        return false;
    }
    const char *close = memchr(open + 1, *open == '"' ? '"' : '>', (size_t)(end - open - 1));
    if (!close) {
        return false;
    }
    char *file = strndup(open + 1, (size_t)(close - open - 1)), *path = NULL, *text = NULL;
    size_t length = 0;
    bool found = file && find_included(e, folder, file, *open == '"', &path, &text, &length);
    if (found) {
        char *slash = strrchr(path, '/');
        char *beside = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
        *status = beside ? put_file(e, path, beside, text, length)
                         : ig_fail(e->error, INGOT_OUT_OF_MEMORY, "no memory for \"%s\"", path);
        free(beside);
        free(path);
        free(text);
    }
    free(file);
    return found;
}

/* Of files with `#pragma once`: a name that is the same for the same text. */
static void guard_name(const char *text, size_t length, char name[48]) {
    struct ig_hash hash;
    uint8_t digest[32];
    ig_hash_begin(&hash);
    ig_hash_bytes(&hash, text, length);
    ig_hash_end(&hash, digest);
    size_t at = (size_t)snprintf(name, 48, "INGOT_ONCE_");
    for (size_t i = 0; i < 12; i++) {
        at += (size_t)snprintf(name + at, 48 - at, "%02x", digest[i]);
    }
}

static ingot_status put_file(struct expansion *e, const char *name, const char *folder,
                             const char *text, size_t length) {
    const char *end = text + length;
    size_t line = 1;
    bool is_guarded = false;
    ingot_status status = INGOT_OK;
    if (++e->depth > MOST_DEEP || e->out->size > MOST_BYTES) {
        return ig_fail(e->error, INGOT_COMPILE_ERROR,
                       "%s: files include each other more than %d deep, or the text has more than "
                       "%zu bytes",
                       name, MOST_DEEP, MOST_BYTES);
    }
    put_line_mark(e, 1, name);
    for (const char *at = text; at < end && status == INGOT_OK; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *word = directive(at, stop, "pragma");
        if (word && (size_t)(stop - word) >= 4 && !memcmp(word, "once", 4)) {
            char guard[48];
            guard_name(text, length, guard);
            ig_text_printf(e->out, "#ifndef %s\n#define %s\n", guard, guard);
            put_line_mark(e, line + 1, name);
            is_guarded = true;
        } else if (put_include(e, folder, at, stop, &status)) {
            put_line_mark(e, line + 1, name);
        } else {
            ig_text_append(e->out, at, (size_t)(stop - at));
            ig_text_puts(e->out, "\n");
        }
        at = stop < end ? stop + 1 : end;
    }
    if (is_guarded) {
        ig_text_puts(e->out, "#endif\n");
    }
    e->depth--;
    return status;
}

ingot_status ig_source_expand(const struct ig_source_text *from, struct ig_text *text,
                              struct ig_error *error) {
    struct expansion e = {.from = from, .out = text, .error = error};
    for (size_t i = 0; i < from->define_count; i++) {
        const char *value = from->defines[i].value;
        ig_text_printf(text, "#define %s %s\n", from->defines[i].name, value ? value : "1");
    }
    const bool has_mark = from->length >= 3 && !memcmp(from->source, "\xef\xbb\xbf", 3);
    const size_t skipped = has_mark ? 3 : 0; /* a byte order mark */
    ingot_status status =
        put_file(&e, from->name, from->own_folder, from->source + skipped, from->length - skipped);
    return status == INGOT_OK && text->failed
               ? ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory to expand \"%s\"", from->name)
               : status;
}

/* ---- in archives ---- */

const struct ig_code *ig_archive_text(const struct ig_archive *archive, const char *target) {
    for (uint32_t i = 0; i < archive->variant_count; i++) {
        const struct ig_code *code =
            *archive->variants[i].kernel ? NULL : ig_variant_code(&archive->variants[i], target);
        if (code) {
            return code;
        }
    }
    return NULL;
}

void ig_text_options(struct ig_text *text, bool fast_math, uint32_t msl_version) {
    ig_text_puts(text, fast_math ? "--fast-math" : "");
    if (msl_version) {
        ig_text_printf(text, "%s--msl-version %u", fast_math ? " " : "", msl_version);
    }
}
