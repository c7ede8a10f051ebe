/* The text of a source for Metal's compiler, which archives hold as code of the target "metal". */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/source_text.h"
#include "cli/cli.h"

/* "NAME=VALUE" or "NAME", of which there are `count`. */
static const ingot_define *split_defines(struct ig_arena *arena, const struct cli_list *list) {
    ingot_define *defines = ig_arena_array(arena, list->count + 1, sizeof *defines);
    for (size_t i = 0; defines && i < list->count; i++) {
        char *name = ig_arena_string(arena, list->items[i]);
        char *equals = name ? strchr(name, '=') : NULL;
        if (!name) {
            return NULL;
        }
        if (equals) {
            *equals = 0;
        }
        defines[i] = (ingot_define){.name = name, .value = equals ? equals + 1 : NULL};
    }
    return defines;
}

bool cli_metal_text(struct ig_arena *arena, const char *path,
                    const struct cli_source_options *options, struct ig_code *code) {
    struct ig_error error = {0};
    struct ig_text text = {0};
    char *source = NULL;
    const char *slash = strrchr(path, '/');
    const ingot_define *defines = split_defines(arena, &options->defines);
    const char *folder =
        slash ? ig_arena_copy(arena, path, (size_t)(slash - path)) : ig_arena_string(arena, ".");
    struct ig_source_text from = {
        .name = path,
        .own_folder = folder,
        .include_dirs = options->include_dirs.items,
        .include_dir_count = options->include_dirs.count,
        .defines = defines,
        .define_count = options->defines.count,
    };
    bool good = defines && folder && !ig_file_read(path, 0, &source, &from.length, &error);
    if (good) {
        from.source = source;
        ig_text_options(&text, options->fast_math, options->msl_version);
        ig_text_puts(&text, "\n");
        good = !ig_source_expand(&from, &text, &error);
    }
    void *bytes = good ? ig_arena_copy(arena, text.data, text.size) : NULL;
    if (!bytes) {
        cli_error("%s: %s", path, error.status ? ig_error_text(&error) : "out of memory");
    }
    *code = (struct ig_code){.target = "metal", .bytes = bytes, .size = text.size};
    ig_text_free(&text);
    ig_error_clear(&error);
    free(source);
    return bytes != NULL;
}
