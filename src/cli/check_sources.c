/*
 * What `ingot check` compiles: files, folders and stdin, and what ingot.toml (project.c) says of
 * them. A file that several of its entries name is compiled once with each.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/check.h"
#include "cli/project.h"

#define MOST_STDIN ((size_t)64 << 20)

static const char *without_dot(const char *path) {
    while (!strncmp(path, "./", 2)) {
        path += 2;
    }
    return path;
}

/* The file's name from the project's folder, however both are spelled; NULL: it is elsewhere. */
static const char *name_in(const struct project *project, const char *path) {
    char *folder = realpath(*project->folder ? project->folder : ".", NULL);
    char *file = realpath(path, NULL);
    size_t length = folder ? strlen(folder) : 0;
    length -= length == 1; /* "/" */
    bool inside = folder && file && !strncmp(file, folder, length) && file[length] == '/';
    const char *name = inside ? ig_arena_string(project->arena, file + length + 1) : NULL;
    free(folder);
    free(file);
    return name;
}

static bool names(const struct project *project, const struct project_entry *entry,
                  const char *path) {
    const char *name = name_in(project, path);
    for (size_t i = 0; i < entry->files.count; i++) {
        const char *item = entry->files.items[i];
        const char *pattern = ig_arena_printf(project->arena, "%s%s", project->folder, item);
        if ((pattern && !fnmatch(without_dot(pattern), without_dot(path), 0)) ||
            (name && !fnmatch(without_dot(item), name, 0))) {
            return true;
        }
    }
    return false;
}

static bool read_text(const char *path, struct ig_text *text) {
    char *bytes = NULL;
    size_t size;
    struct ig_error error = {0};
    bool good = ig_file_read(path, 0, &bytes, &size, &error) == INGOT_OK;
    if (good) {
        ig_text_append(text, bytes, size);
    } else {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    free(bytes);
    return good;
}

/* The texts that an entry puts before the source, then the source with lines of its own. */
static bool prepend(const struct project *project, const struct project_entry *entry,
                    struct check_source *source) {
    struct ig_text text = {0};
    bool good = true;
    for (size_t i = 0; i < entry->prepend.count && good; i++) {
        const char *path =
            ig_arena_printf(project->arena, "%s%s", project->folder, entry->prepend.items[i]);
        ig_text_printf(&text, "#line 1 \"%s\"\n", path ? path : "");
        good = path && read_text(path, &text);
        ig_text_puts(&text, "\n");
    }
    if (entry->prepend.count && good) {
        if (source->text) {
            ig_text_puts(&text, source->text);
        } else {
            ig_text_printf(&text, "#line 1 \"%s\"\n", source->path);
            good = read_text(source->path, &text);
        }
        source->text = ig_arena_string(project->arena, ig_text_string(&text));
        good = good && source->text && !text.failed;
    }
    ig_text_free(&text);
    return good;
}

static bool copy_list(struct cli_list *to, const struct cli_list *from) {
    for (size_t i = 0; i < from->count; i++) {
        if (!cli_list_add(to, from->items[i])) {
            return false;
        }
    }
    return true;
}

static bool add_source(struct check_sources *out, const char *path, const char *text,
                       const struct cli_source_options *options) {
    if (out->count == out->capacity) {
        size_t capacity = out->capacity ? 2 * out->capacity : 16;
        struct check_source *items = realloc(out->items, capacity * sizeof *items);
        if (!items) {
            cli_error("out of memory");
            return false;
        }
        out->items = items;
        out->capacity = capacity;
    }
    struct check_source *source = &out->items[out->count++];
    *source = (struct check_source){.path = path, .text = text, .options = *options};
    source->options.include_dirs = source->options.defines = (struct cli_list){0};
    return copy_list(&source->options.include_dirs, &options->include_dirs) &&
           copy_list(&source->options.defines, &options->defines);
}

/* A file, once for each entry that names it, or once without. */
static bool add_file(const struct project *project, const char *path, const char *text,
                     const struct cli_source_options *options, struct check_sources *out) {
    bool any = false, good = true;
    for (size_t i = 0; i < project->count && good; i++) {
        const struct project_entry *entry = &project->entries[i];
        if (!names(project, entry, path)) {
            continue;
        }
        any = true;
        good = add_source(out, path, text, options);
        struct check_source *source = good ? &out->items[out->count - 1] : NULL;
        for (size_t k = 0; good && k < entry->include.count; k++) {
            const char *folder =
                ig_arena_printf(project->arena, "%s%s", project->folder, entry->include.items[k]);
            good = folder && cli_list_add(&source->options.include_dirs, folder);
        }
        if (good && entry->msl_version) {
            source->options.msl_version = entry->msl_version;
        }
        good = good && copy_list(&source->options.defines, &entry->define) &&
               prepend(project, entry, source);
    }
    return good && (any || add_source(out, path, text, options));
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_folder(const char *path) {
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* A folder that is being walked, and those that it is in. */
struct walk {
    const struct walk *outer;
    dev_t device;
    ino_t inode;
};

/* A link to a folder that it lies in has nothing new. */
static bool is_in(const struct walk *walk, const struct stat *info) {
    while (walk && (walk->device != info->st_dev || walk->inode != info->st_ino)) {
        walk = walk->outer;
    }
    return walk != NULL;
}

/* Its .metal files, and those of folders in it, by name; hidden ones are left out. */
static bool add_folder(const struct project *project, const char *folder,
                       const struct cli_source_options *options, struct check_sources *out,
                       const struct walk *outer) {
    struct stat info;
    DIR *listing = opendir(folder);
    struct cli_list found = {0};
    bool good = listing && !fstat(dirfd(listing), &info);
    if (!good || is_in(outer, &info)) {
        if (!good) {
            cli_error("cannot list %s: %s", folder, strerror(errno));
        }
        if (listing) {
            closedir(listing);
        }
        return good;
    }
    const struct walk walk = {.outer = outer, .device = info.st_dev, .inode = info.st_ino};
    for (struct dirent *e; good && (e = readdir(listing));) {
        char *path = e->d_name[0] == '.'
                         ? NULL
                         : ig_arena_printf(project->arena, "%s%s%s", folder,
                                           folder[strlen(folder) - 1] == '/' ? "" : "/", e->d_name);
        size_t length = strlen(e->d_name);
        if (path &&
            (is_folder(path) || (length > 6 && !strcmp(e->d_name + length - 6, ".metal")))) {
            good = cli_list_add(&found, path);
        }
    }
    closedir(listing);
    if (found.count) {
        qsort(found.items, found.count, sizeof *found.items, by_text);
    }
    for (size_t i = 0; i < found.count && good; i++) {
        const char *path = found.items[i];
        good = is_folder(path) ? add_folder(project, path, options, out, &walk)
                               : add_file(project, path, NULL, options, out);
    }
    cli_list_free(&found);
    return good;
}

static const char *read_stdin(struct ig_arena *arena) {
    struct ig_text text = {0};
    char part[65536];
    for (ssize_t got;
         (got = read(STDIN_FILENO, part, sizeof part)) > 0 && text.size < MOST_STDIN;) {
        ig_text_append(&text, part, (size_t)got);
    }
    const char *kept =
        text.failed ? NULL
                    : ig_arena_printf(arena, "#line 1 \"<stdin>\"\n%s", ig_text_string(&text));
    ig_text_free(&text);
    return kept;
}

bool check_find_sources(struct ig_arena *arena, const struct cli_list *paths, const char *path,
                        const struct cli_source_options *options, struct check_sources *out) {
    struct project project = {.arena = arena, .path = path ? path : "ingot.toml", .folder = ""};
    bool good = true;
    if (path || !access(project.path, R_OK)) {
        good = project_read(&project);
    }
    for (size_t i = 0; i < paths->count && good; i++) {
        const char *item = paths->items[i];
        if (!strcmp(item, "-")) {
            const char *text = read_stdin(arena);
            good = text && add_file(&project, "<stdin>", text, options, out);
        } else if (is_folder(item)) {
            size_t before = out->count;
            good = add_folder(&project, item, options, out, NULL);
            if (good && out->count == before) {
                cli_warning("%s has no .metal files", item);
            }
        } else {
            good = add_file(&project, item, NULL, options, out);
        }
    }
    project_free(&project);
    return good;
}

void check_sources_free(struct check_sources *sources) {
    for (size_t i = 0; i < sources->count; i++) {
        cli_list_free(&sources->items[i].options.include_dirs);
        cli_list_free(&sources->items[i].options.defines);
    }
    free(sources->items);
}
