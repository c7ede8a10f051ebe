/* `ingot editor`: flags for clangd, by which editors understand Metal source. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "cli/project.h"

#ifndef INGOT_SOURCE_PRELUDE
#define INGOT_SOURCE_PRELUDE "" /* of the source tree that a development build uses */
#endif

static const char *const flags[] = {
    "-xc++",
    "-std=c++23",
    "-nostdinc",
    "-nostdinc++",
    "-D__INGOT_EDITOR__=1",
    "-D__INGOT_TENSORS__=1",
    "-ferror-limit=0",
    "-fdeclspec",
    "-ffreestanding", /* a kernel may be called main */
    "-fno-builtin",
    "-fno-rtti",
    "-Wno-everything",
    "-Wno-c++11-narrowing",
    "-Xclang",
    "-fsycl-is-device",
    "-Xclang",
    "-ffake-address-space-map",
    "-Xclang",
    "-cl-single-precision-constant",
};

/* What clang calls an error, and Metal does not. A name says what it is for; those that have
 * address spaces as macros for their reason say so. */
static const char *const suppressed[] = {
    "attribute_address_function_type", /* member functions of an address space, */
    "constructor_redeclared",          /* of which there may be one for each */
    "member_redeclared",
    "member_redeclared_in_instantiation",
    "conv_function_redeclared",
    "ovl_diff_return_type",
    "invalid_qualified_constructor",     /* T() constant */
    "redefinition",                      /* f(constant T *) and f(thread const T *) */
    "ovl_no_viable_oper",                /* assignments to structs in device memory */
    "as_qualified_auto_decl",            /* threadgroup variables in functions */
    "arg_with_address_space",            /* device float x[4] as an argument */
    "attributes_not_allowed",            /* host_name behind `template` */
    "default_init_const",                /* function constants without a value, */
    "constexpr_var_requires_const_init", /* those that are constexpr, */
    "static_assert_expression_is_not_constant",
    "conditional_ambiguous", /* a vector or a scalar by ?: */
    "typecheck_cond_incompatible_operands",
    "bad_cxx_cast_generic",                         /* static_cast<bfloat>(half()) */
    "excess_initializers",                          /* vectors by ext_vector_type: constructors, */
    "bad_cxx_cast_vector_to_vector_different_size", /* conversions */
    "expr_not_cce",                                 /* shifts by more than the width */
    "expr_not_ice",
    "ovl_no_viable_function_in_init", /* constructors for constant memory alone */
    "init_conversion_failed",         /* the address space of what a member returns */
    "reference_bind_drops_quals",
    "typecheck_invalid_restrict_not_pointer", /* coherent: see ingot_editor.h */
    "invalid_suffix_constant",                /* 1.5bf */
    "expected",                               /* [[threadgroup(0)]], where threadgroup is a macro */
};

static const char *find_prelude(struct ig_arena *arena) {
    const char *named = ig_environment("INGOT_PRELUDE");
    if (named && *named) {
        return named;
    }
    const char *installed = cli_data_path(arena, "prelude");
    return installed                             ? installed
           : !access(INGOT_SOURCE_PRELUDE, R_OK) ? INGOT_SOURCE_PRELUDE
                                                 : NULL;
}

static void write_item(struct ig_text *out, const char *item) {
    ig_text_puts(out, "    - \"");
    for (; *item; item++) {
        ig_text_printf(out, *item == '"' || *item == '\\' ? "\\%c" : "%c", *item);
    }
    ig_text_puts(out, "\"\n");
}

static void write_folder(struct ig_text *out, struct ig_arena *arena, const char *folder) {
    char *path = realpath(folder, NULL);
    write_item(out, ig_arena_printf(arena, "-I%s", path ? path : folder));
    free(path);
}

/* A pattern of ingot.toml as a regular expression for clangd. */
static void write_pattern(struct ig_text *out, const char *pattern) {
    ig_text_puts(out, "    - '");
    for (const char *c = pattern; *c; c++) {
        if (*c == '*' || *c == '?') {
            ig_text_puts(out, *c == '*' ? ".*" : ".");
        } else if (c[0] == '[' && c[1] == '!') {
            ig_text_puts(out, "[^");
            c++;
        } else if (*c == '\'') {
            ig_text_puts(out, "''");
        } else {
            ig_text_printf(out, strchr(".+(){}|^$\\", *c) ? "\\%c" : "%c", *c);
        }
    }
    ig_text_puts(out, "'\n");
}

/* What an entry of ingot.toml adds, for the files that no entry before it names. */
static void write_entry(struct ig_text *out, struct ig_arena *arena, const struct project *project,
                        size_t which) {
    const struct project_entry *entry = &project->entries[which];
    if (!entry->files.count ||
        !(entry->include.count + entry->define.count + entry->prepend.count + entry->msl.count)) {
        return;
    }
    ig_text_puts(out, "---\nIf:\n  PathMatch:\n");
    for (size_t i = 0; i < entry->files.count; i++) {
        write_pattern(out, entry->files.items[i]);
    }
    ig_text_puts(out, which ? "  PathExclude:\n" : "");
    for (size_t k = 0; k < which; k++) {
        for (size_t i = 0; i < project->entries[k].files.count; i++) {
            write_pattern(out, project->entries[k].files.items[i]);
        }
    }
    ig_text_puts(out, "CompileFlags:\n  Add:\n");
    for (size_t i = 0; i < entry->include.count; i++) {
        write_folder(out, arena,
                     ig_arena_printf(arena, "%s%s", project->folder, entry->include.items[i]));
    }
    for (size_t i = 0; i < entry->define.count; i++) {
        write_item(out, ig_arena_printf(arena, "-D%s", entry->define.items[i]));
    }
    if (entry->msl_version) {
        write_item(out, ig_arena_printf(arena, "-D__METAL_VERSION__=%u", entry->msl_version));
    }
    for (size_t i = 0; i < entry->prepend.count; i++) {
        const char *name = ig_arena_printf(arena, "%s%s", project->folder, entry->prepend.items[i]);
        char *path = realpath(name, NULL);
        write_item(out, "-include");
        write_item(out, path ? path : name);
        free(path);
    }
}

static void write_config(struct ig_text *out, struct ig_arena *arena, const char *prelude,
                         const struct cli_source_options *options, const struct project *project) {
    ig_text_puts(out, "# Written by `ingot editor`: clangd reads Metal source with these.\n"
                      "If:\n  PathMatch: .*\\.metal\nCompileFlags:\n  Add:\n");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        write_item(out, flags[i]);
    }
    write_item(out, ig_arena_printf(arena, "-I%s", prelude));
    write_item(out, "-include");
    write_item(out, "ingot_editor.h");
    for (size_t i = 0; i < options->include_dirs.count; i++) {
        write_folder(out, arena, options->include_dirs.items[i]);
    }
    for (size_t i = 0; i < options->defines.count; i++) {
        write_item(out, ig_arena_printf(arena, "-D%s", options->defines.items[i]));
    }
    if (options->msl_version) {
        write_item(out, ig_arena_printf(arena, "-D__METAL_VERSION__=%u", options->msl_version));
    }
    ig_text_puts(out, "Diagnostics:\n  Suppress:\n");
    for (size_t i = 0; i < sizeof suppressed / sizeof *suppressed; i++) {
        write_item(out, suppressed[i]);
    }
    for (size_t i = 0; i < project->count; i++) {
        write_entry(out, arena, project, i);
    }
}

static int write_file(struct ig_arena *arena, const struct cli_source_options *options,
                      const char *folder, bool force) {
    struct ig_text text = {0};
    struct ig_error error = {0};
    const char *prelude = find_prelude(arena);
    const char *path = ig_arena_printf(arena, "%s/.clangd", folder);
    struct project project = {.arena = arena,
                              .path = ig_arena_printf(arena, "%s/ingot.toml", folder)};
    bool good = prelude && path && project.path;
    if (!prelude) {
        cli_error("Metal's headers (share/ingot/prelude beside this program) are missing; "
                  "$INGOT_PRELUDE may name them");
    } else if (good && !force && !access(path, F_OK)) {
        cli_error("%s exists: --force writes it anew", path);
        good = false;
    }
    if (good && !access(project.path, R_OK)) {
        good = project_read(&project);
    }
    if (good) {
        write_config(&text, arena, prelude, options, &project);
        good = ig_file_write(path, ig_text_string(&text), text.size, &error) == INGOT_OK;
        if (good) {
            printf("wrote %s\n", path);
        } else {
            cli_error("%s", ig_error_text(&error));
        }
    }
    project_free(&project);
    ig_error_clear(&error);
    ig_text_free(&text);
    return good ? CLI_OK : CLI_FAILED;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct cli_source_options source = {0};
    struct cli_list folders = {0};
    struct ig_arena arena = {0};
    bool force = false;
    const struct cli_option options[] = {
        {"force", 0, CLI_FLAG, NULL, "overwrite a .clangd that is there", &force},
        CLI_SOURCE_OPTIONS(source),
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &folders, &status)) {
        status = folders.count > 1
                     ? cli_usage_error(command, "expected one folder")
                     : write_file(&arena, &source, folders.count ? folders.items[0] : ".", force);
    }
    cli_list_free(&folders);
    cli_source_options_free(&source);
    ig_arena_free(&arena);
    return status;
}

const struct cli_command cli_editor = {
    .name = "editor",
    .summary = "write a .clangd, by which editors understand .metal files",
    .usage = "[FOLDER] [OPTION]...",
    .help =
        "Writes FOLDER/.clangd (that of the working folder), with flags and headers under which\n"
        "clangd 19 and newer reads Metal source: completion, hover, definitions and errors as you\n"
        "type. FOLDER/ingot.toml says which files get defines, folders or prepended text, as for\n"
        "`ingot check`, which has the last word on what compiles.",
    .examples = "  ingot editor\n  ingot editor src/metal -I include -D SCALAR_T=float",
    .run = run,
};
