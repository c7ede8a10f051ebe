/* Opening a FILE, which is Metal source or an archive, through the public API. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void cli_source_options_free(struct cli_source_options *options) {
    cli_list_free(&options->include_dirs);
    cli_list_free(&options->defines);
}

bool cli_is_archive(const char *path) {
    char start[5] = {0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        return false;
    }
    size_t got = fread(start, 1, sizeof start, file);
    fclose(file);
    if (got == sizeof start && !memcmp(start, "INGOT", 5)) {
        return true;
    }
    size_t length = strlen(path);
    return length > 6 && !strcmp(path + length - 6, ".ingot");
}

/* Does the file begin with one of these? */
static bool begins_with(const char *path, const char magics[][5], size_t count) {
    unsigned char start[4] = {0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        return false;
    }
    const bool read = fread(start, 1, sizeof start, file) == sizeof start;
    fclose(file);
    for (size_t i = 0; read && i < count; i++) {
        if (!memcmp(start, magics[i], sizeof start)) {
            return true;
        }
    }
    return false;
}

bool cli_is_library(const char *path) {
    static const char magics[][5] = {"MTLB", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"};
    return begins_with(path, magics, sizeof magics / sizeof *magics);
}

bool cli_is_compiled(const char *path) {
    static const char modules[][5] = {"\xde\xc0\x17\x0b", "BC\xc0\xde"};
    return cli_is_library(path) || begins_with(path, modules, sizeof modules / sizeof *modules);
}

bool cli_is_binary(const char *path) {
    char start[4096];
    FILE *file = fopen(path, "rb");
    if (!file) {
        return false;
    }
    size_t got = fread(start, 1, sizeof start, file);
    fclose(file);
    return memchr(start, 0, got) != NULL;
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
