/* Opening a FILE, which is Metal source or an archive, through the public API. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/metallib.h"
#include "cli/cli.h"

void cli_source_options_free(struct cli_source_options *options) {
    cli_list_free(&options->include_dirs);
    cli_list_free(&options->defines);
}

/* The first bytes of a file, 0 of one that cannot be read. */
static size_t read_start(const char *path, char *start, size_t room) {
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe has no end to wait for */
    struct stat info;
    ssize_t got = 0;
    if (file < 0) {
        return 0;
    }
    if (!fstat(file, &info) && S_ISREG(info.st_mode)) {
        got = read(file, start, room);
    }
    close(file);
    return got > 0 ? (size_t)got : 0;
}

bool cli_is_archive(const char *path) {
    char start[5];
    if (read_start(path, start, sizeof start) == sizeof start && !memcmp(start, "INGOT", 5)) {
        return true;
    }
    size_t length = strlen(path);
    return length > 6 && !strcmp(path + length - 6, ".ingot");
}

bool cli_is_library(const char *path) {
    char start[IG_METALLIB_START];
    const size_t got = read_start(path, start, sizeof start);
    return ig_metallib_is(start, got) || ig_metallib_is_image(start, got);
}

bool cli_is_compiled(const char *path) {
    char start[IG_METALLIB_START];
    return cli_is_library(path) ||
           ig_metallib_is_bitcode(start, read_start(path, start, sizeof start));
}

bool cli_is_binary(const char *path) {
    char start[4096];
    return memchr(start, 0, read_start(path, start, sizeof start)) != NULL;
}

/* "NAME=VALUE" → name and value; the arena owns both. */
static bool split_defines(struct ig_arena *arena, const struct cli_list *list,
                          ingot_define **defines) {
    *defines = ig_arena_array(arena, list->count + 1, sizeof **defines);
    if (!*defines) {
        return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->items[i], '=');
        size_t length = equals ? (size_t)(equals - list->items[i]) : strlen(list->items[i]);
        (*defines)[i].name = ig_arena_copy(arena, list->items[i], length);
        (*defines)[i].value = equals ? equals + 1 : NULL;
        if (!(*defines)[i].name) {
            return false;
        }
    }
    return true;
}

ingot_status cli_open_library(ingot_device *device, const char *path,
                              const struct cli_source_options *options, ingot_library **library) {
    ingot_status status;
    if (cli_is_archive(path) || cli_is_compiled(path)) {
        status = ingot_library_create_from_archive(device, path, library);
        if (status) {
            cli_error("%s", ingot_error_message());
        }
        return status;
    }
    if (cli_is_binary(path)) {
        cli_error("%s is neither Metal source, nor a compiled library, nor an .ingot archive",
                  path);
        return INGOT_INVALID_ARGUMENT;
    }
    struct ig_arena arena = {0};
    ingot_define *defines;
    if (!split_defines(&arena, &options->defines, &defines)) {
        ig_arena_free(&arena);
        cli_error("out of memory");
        return INGOT_OUT_OF_MEMORY;
    }
    ingot_source_desc desc = {
        .include_dirs = options->include_dirs.items,
        .include_dir_count = options->include_dirs.count,
        .defines = defines,
        .define_count = options->defines.count,
        .fast_math = options->fast_math,
        .msl_version = options->msl_version,
        .werror = options->werror,
    };
    status = ingot_library_create_from_source_file(device, path, &desc, library);
    if (status == INGOT_COMPILE_ERROR) {
        cli_diagnostics(ingot_error_message());
    } else if (status) {
        cli_error("%s", ingot_error_message());
    }
    ig_arena_free(&arena);
    return status;
}
