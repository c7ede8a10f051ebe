/* The text of source lines: from the file, while it is what was compiled, with its comments; else
 * as the preprocessor left them in the archive. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/profile.h"

enum { MOST_FILES = 32, LARGEST = 16 << 20 };

/* Files by name, read once; the command reports once and ends. */
struct file {
    const char *name;
    char *bytes; /* NULL: not to be had, or it has changed */
    const char **lines;
    uint32_t count;
};
static struct file files[MOST_FILES];
static size_t file_count;

static const char *preprocessed(const struct ig_profile *profile, const char *file, uint32_t line) {
    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile->sources[i].line == line && !strcmp(profile->sources[i].file, file)) {
            return profile->sources[i].text;
        }
    }
    return "";
}

static void cut(struct file *file, size_t size) {
    uint32_t count = 1;
    for (size_t i = 0; i < size; i++) {
        count += file->bytes[i] == '\n';
    }
    file->lines = calloc(count, sizeof *file->lines);
    if (!file->lines) {
        return;
    }
    for (char *at = file->bytes; file->count < count; file->count++) {
        file->lines[file->count] = at;
        char *end = memchr(at, '\n', (size_t)(file->bytes + size - at));
        if (!end) {
            file->count++;
            break;
        }
        *end = '\0';
        at = end + 1;
    }
}

/* Spaces and comments do not survive the preprocessor: letters have to come in the same order. */
static bool is_same(const char *line, const char *text) {
    for (; *text; text++) {
        if (*text == ' ' || *text == '\t') {
            continue;
        }
        line = strchr(line, *text);
        if (!line) {
            return false;
        }
        line++;
    }
    return true;
}

static bool has_changed(const struct file *file, const struct ig_profile *profile) {
    size_t looked = 0, differing = 0;
    for (size_t i = 0; i < profile->source_count; i++) {
        const struct ig_profile_source *source = &profile->sources[i];
        if (strcmp(source->file, file->name) != 0) {
            continue;
        }
        looked++;
        differing += source->line == 0 || source->line > file->count ||
                     !is_same(file->lines[source->line - 1], source->text);
    }
    return looked == 0 || differing > looked / 2; /* macros make lines differ */
}

static struct file *open_file(struct profile_report *report, const char *name) {
    for (size_t i = 0; i < file_count; i++) {
        if (!strcmp(files[i].name, name)) {
            return &files[i];
        }
    }
    if (file_count == MOST_FILES) {
        return NULL;
    }
    struct file *file = &files[file_count++];
    struct ig_error error = {0};
    size_t size = 0;
    *file = (struct file){.name = name};
    if (!ig_file_read(name, LARGEST, &file->bytes, &size, &error)) {
        cut(file, size);
        if (!file->lines || has_changed(file, &report->counters)) {
            file->count = 0;
        }
    }
    ig_error_clear(&error);
    return file;
}

const char *profile_source(struct profile_report *report, const char *file, uint32_t line) {
    const struct file *opened = *file ? open_file(report, file) : NULL;
    if (opened && opened->count) {
        return line && line <= opened->count ? opened->lines[line - 1] : "";
    }
    return preprocessed(&report->counters, file, line);
}
