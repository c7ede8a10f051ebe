/* What the reports ask about a kernel's source. The text of lines: from the file, while it is what
 * was compiled, with its comments; else as the preprocessor left them in the archive. */
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

/* ---- lines by file ---- */

bool profile_has_counts(const struct ig_profile_line *line) {
    for (int c = 0; c < IG_COUNTER_COUNT; c++) {
        if (line->counts[c]) {
            return true;
        }
    }
    return false;
}

static int by_steps(const void *a, const void *b) {
    const struct profile_file *x = a, *y = b;
    if (x->steps != y->steps) {
        return x->steps < y->steps ? 1 : -1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

size_t profile_files(const struct profile_kernel *kernel,
                     struct profile_file result[PROFILE_MOST_FILES]) {
    const struct ig_profile_kernel *counted = kernel->counted;
    size_t count = 0;
    for (size_t i = 0; counted && i < counted->line_count; i++) {
        const struct ig_profile_line *line = &counted->lines[i];
        if (!count || strcmp(counted->lines[result[count - 1].first].file, line->file) != 0) {
            if (count == PROFILE_MOST_FILES) {
                break;
            }
            result[count++] = (struct profile_file){.first = i};
        }
        result[count - 1].end = i + 1;
        result[count - 1].steps += profile_steps(line->counts);
    }
    if (count) {
        qsort(result, count, sizeof *result, by_steps);
    }
    return count;
}
