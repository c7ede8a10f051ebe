/*
 * ingot.toml, which says how a project compiles its sources:
 *
 *     [[sources]]
 *     files = ["kernels/k?.metal"]     # names or patterns, from the file's folder
 *     define = ["SCALAR_T=float"]      # macros
 *     include = ["include"]            # folders
 *     prepend = ["metal/types"]        # files whose text stands before the source
 *     msl = "4.0"                      # the version of the language
 *
 * Of TOML, tables [[sources]], strings and lists of strings are read; anything else is an error
 * with its line.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/source_options.h"
#include "cli/project.h"

struct reader {
    struct project *project;
    const char *at;
    unsigned line;
    struct ig_error *error;
};

static bool complain(const struct reader *reader, const char *what) {
    ig_fail(reader->error, INGOT_INVALID_ARGUMENT, "%s:%u: %s", reader->project->path, reader->line,
            what);
    return false;
}

/* Spaces and comments; line breaks too where they mean nothing. */
static void skip(struct reader *reader, bool lines) {
    for (;;) {
        if (*reader->at == '#') {
            reader->at += strcspn(reader->at, "\n");
        }
        if (*reader->at == '\n' && lines) {
            reader->line++;
        } else if (*reader->at != ' ' && *reader->at != '\t' && *reader->at != '\r') {
            return;
        }
        reader->at++;
    }
}

static bool read_string(struct reader *reader, struct cli_list *list) {
    char quote = *reader->at, *text;
    if (quote != '"' && quote != '\'') {
        return complain(reader, "expected a string, or a list of strings");
    }
    size_t length = 0, kept = 0;
    const char *from = ++reader->at;
    while (from[length] && from[length] != quote && from[length] != '\n') {
        const bool escapes =
            quote == '"' && from[length] == '\\' && from[length + 1] && from[length + 1] != '\n';
        length += escapes ? 2 : 1;
    }
    if (from[length] != quote) {
        return complain(reader, "a string does not end on its line");
    }
    text = ig_arena_alloc(reader->project->arena, length + 1);
    for (size_t i = 0; text && i < length; i++) {
        if (quote == '"' && from[i] == '\\') {
            i++;
            text[kept++] = from[i] == 'n' ? '\n' : from[i] == 't' ? '\t' : from[i];
        } else {
            text[kept++] = from[i];
        }
    }
    reader->at = from + length + 1;
    return text && cli_list_add(list, text);
}

static bool read_value(struct reader *reader, struct cli_list *list) {
    if (*reader->at != '[') {
        return read_string(reader, list);
    }
    reader->at++;
    for (;;) {
        skip(reader, true);
        if (*reader->at == ']') {
            reader->at++;
            return true;
        }
        if (!read_string(reader, list)) {
            return false;
        }
        skip(reader, true);
        if (*reader->at == ',') {
            reader->at++;
        } else if (*reader->at != ']') {
            return complain(reader, "expected , or ] in a list");
        }
    }
}

static bool read_version(const struct reader *reader, struct project_entry *entry) {
    if (entry->msl.count == 1 && cli_msl_version(entry->msl.items[0], &entry->msl_version)) {
        return true;
    }
    const char *what = ig_arena_printf(
        reader->project->arena, "msl = \"%s\": expected one version, %s",
        entry->msl.count ? entry->msl.items[entry->msl.count - 1] : "", ig_msl_versions);
    return complain(reader, what ? what : "out of memory");
}

static struct cli_list *list_of(struct project_entry *entry, const char *key, size_t length) {
    const struct {
        const char *name;
        struct cli_list *list;
    } keys[] = {{"files", &entry->files},
                {"define", &entry->define},
                {"include", &entry->include},
                {"prepend", &entry->prepend},
                {"msl", &entry->msl}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i].name) == length && !strncmp(keys[i].name, key, length)) {
            return keys[i].list;
        }
    }
    return NULL;
}

static bool read_line(struct reader *reader) {
    struct project *project = reader->project;
    static const char table[] = "[[sources]]";
    if (!strncmp(reader->at, table, sizeof table - 1)) {
        struct project_entry *entries =
            realloc(project->entries, (project->count + 1) * sizeof *entries);
        if (!entries) {
            return complain(reader, "out of memory");
        }
        project->entries = entries;
        entries[project->count++] = (struct project_entry){0};
        reader->at += sizeof table - 1;
        return true;
    }
    size_t length = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz_-");
    const char *key = reader->at;
    reader->at += length;
    skip(reader, false);
    if (!length || *reader->at != '=') {
        return complain(reader, "expected [[sources]] or KEY = VALUE");
    }
    struct cli_list *list =
        project->count ? list_of(&project->entries[project->count - 1], key, length) : NULL;
    if (!list) {
        return complain(reader, project->count
                                    ? "a key other than files, define, include, prepend, msl"
                                    : "a key before the first [[sources]]");
    }
    reader->at++;
    skip(reader, false);
    struct project_entry *entry = &project->entries[project->count - 1];
    return read_value(reader, list) && (list != &entry->msl || read_version(reader, entry));
}

bool project_parse(struct project *project, const char *text, struct ig_error *error) {
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
    const char *start = strncmp(text, mark, strlen(mark)) ? text : text + strlen(mark);
    struct reader reader = {.project = project, .at = start, .line = 1, .error = error};
    bool good = true;
    for (skip(&reader, true); good && *reader.at; skip(&reader, true)) {
        good = read_line(&reader);
        skip(&reader, false);
        if (good && *reader.at && *reader.at != '\n') {
            good = complain(&reader, "something behind a value");
        }
    }
    return good;
}

bool project_read(struct project *project) {
    char *text = NULL;
    size_t size;
    struct ig_error error = {0};
    const char *slash = strrchr(project->path, '/');
    project->folder = ig_arena_printf(project->arena, "%.*s",
                                      slash ? (int)(slash + 1 - project->path) : 0, project->path);
    bool good = project->folder && !ig_file_read(project->path, 1 << 20, &text, &size, &error) &&
                project_parse(project, text, &error);
    if (!good) {
        cli_error("%s", *ig_error_text(&error) ? ig_error_text(&error) : "out of memory");
    }
    ig_error_clear(&error);
    free(text);
    return good;
}

void project_free(struct project *project) {
    for (size_t i = 0; i < project->count; i++) {
        struct project_entry *e = &project->entries[i];
        cli_list_free(&e->files);
        cli_list_free(&e->define);
        cli_list_free(&e->include);
        cli_list_free(&e->prepend);
        cli_list_free(&e->msl);
    }
    free(project->entries);
}
