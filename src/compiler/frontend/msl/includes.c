/*
 * Included files, before clang opens them: FIFOs, devices and sockets are refused.
 *
 * clang would wait for a FIFO's writer, and read devices. Every name between quotes or angle
 * brackets on a directive's line is looked for where clang would look, and in the files found, and
 * so on. Does not follow names that macros put together: what those lead to is refused only when
 * clang has read it (igc_preprocess), or by the time limit. Nor does it tell what #if leaves out.
 * #embed, which Metal does not have, is refused too.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "compiler/frontend/msl/clang.h"

enum { MOST_FILES = 1024, MOST_BYTES = 16 << 20 };

struct includes {
    struct ig_arena *arena;
    const struct igc_options *options;
    const char *names[MOST_FILES]; /* files that were looked at, or wait for it */
    size_t count;
    struct ig_error *error;
};

bool igc_is_special_file(const char *path) {
    struct stat info;
    return !stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static ingot_status refuse(const struct includes *includes, const char *file, unsigned line,
                           const char *reason, const char *name) {
    return ig_fail(includes->error, INGOT_COMPILE_ERROR, "%s:%u:1: error: %s%s", file, line, name,
                   reason);
}

static void remember(struct includes *includes, const char *path) {
    for (size_t i = 0; i < includes->count; i++) {
        if (!strcmp(includes->names[i], path)) {
            return;
        }
    }
    if (includes->count < MOST_FILES) {
        includes->names[includes->count++] = path;
    }
}

/* One way that a name can be meant. */
static ingot_status try_path(struct includes *includes, const char *file, unsigned line,
                             const char *folder, const char *name) {
    struct stat info;
    const char *path =
        *name == '/' ? name : ig_arena_printf(includes->arena, "%s/%s", folder, name);
    if (!path || stat(path, &info)) {
        return INGOT_OK;
    }
    if (S_ISREG(info.st_mode)) {
        remember(includes, path);
    }
    return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)
               ? INGOT_OK
               : refuse(includes, file, line, ": cannot be included: it is not a regular file",
                        path);
}

static const char *folder_of(struct ig_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? ig_arena_copy(arena, path, (size_t)(slash - path)) : ".";
    return folder ? folder : ".";
}

static ingot_status check_name(struct includes *includes, const char *file, unsigned line,
                               const char *name) {
    const struct igc_options *options = includes->options;
    ingot_status status = try_path(includes, file, line, folder_of(includes->arena, file), name);
    if (!status && *name != '/') {
        status =
            try_path(includes, file, line, folder_of(includes->arena, options->source_name), name);
    }
    for (size_t i = 0; i < options->include_dir_count && !status && *name != '/'; i++) {
        status = try_path(includes, file, line, options->include_dirs[i], name);
    }
    return status;
}

/* A directive from its `#` on, with the lines that continue it. */
static ingot_status check_directive(struct includes *includes, const char *file, unsigned line,
                                    const char *at, const char *end) {
    const char *word = at + 1;
    while (word < end && (*word == ' ' || *word == '\t')) {
        word++;
    }
    if (end - word > 5 && !memcmp(word, "embed", 5) && (word[5] == ' ' || word[5] == '"')) {
        return refuse(includes, file, line, "#embed: Metal has no such directive", "");
    }
    for (const char *p = at; p < end; p++) {
        char close = *p == '"' ? '"' : *p == '<' ? '>' : 0;
        const char *stop = close ? memchr(p + 1, close, (size_t)(end - p - 1)) : NULL;
        if (!stop || memchr(p, '\n', (size_t)(stop - p))) {
            continue;
        }
        char *name = ig_arena_copy(includes->arena, p + 1, (size_t)(stop - p - 1));
        ingot_status status = name && *name ? check_name(includes, file, line, name) : INGOT_OK;
        if (status) {
            return status;
        }
        p = close == '"' ? stop : p; /* `a < "b" > c` */
    }
    return INGOT_OK;
}

static ingot_status check_text(struct includes *includes, const char *file, const char *text,
                               size_t size) {
    const char *end = text + size;
    unsigned line = 1;
    for (const char *at = text; at < end;) {
        const char *stop = at, *hash = at;
        unsigned lines = 0;
        do { /* a line, with those that a backslash at its end joins to it */
            const char *newline = memchr(stop, '\n', (size_t)(end - stop));
            stop = newline ? newline + 1 : end;
            lines++;
        } while (stop < end && stop - at >= 2 &&
                 (stop[-2] == '\\' || (stop - at >= 3 && stop[-2] == '\r' && stop[-3] == '\\')));
        while (hash < stop && (*hash == ' ' || *hash == '\t' || *hash == '\v' || *hash == '\f')) {
            hash++;
        }
        bool is_directive = hash < stop && (*hash == '#' || *hash == '/' || *hash == '%');
        ingot_status status =
            is_directive ? check_directive(includes, file, line, hash, stop) : INGOT_OK;
        if (status) {
            return status;
        }
        line += lines;
        at = stop;
    }
    return INGOT_OK;
}

ingot_status igc_check_includes(struct ig_arena *arena, const struct igc_options *options,
                                const char *text, size_t size, struct ig_error *error) {
    struct includes *includes = ig_arena_array(arena, 1, sizeof *includes);
    if (!includes) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the included files");
    }
    *includes = (struct includes){.arena = arena, .options = options, .error = error};
    ingot_status status = check_text(includes, options->source_name, text, size);
    for (size_t i = 0; i < includes->count && !status; i++) {
        char *bytes;
        struct ig_error ignored = {0};
        size_t length;
        if (ig_file_read(includes->names[i], MOST_BYTES, &bytes, &length, &ignored) == INGOT_OK) {
            status = check_text(includes, includes->names[i], bytes, length);
            free(bytes);
        }
        ig_error_clear(&ignored);
    }
    return status;
}
