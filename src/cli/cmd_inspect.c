/* `ingot inspect`: kernels, their arguments, and function constants. An archive is read as it
 * is; of source only the arguments are worked out, with the value 1 for constants that have none.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/file.h"
#include "base/json.h"
#include "base/metallib.h"
#include "base/scalar.h"
#include "cli/cli.h"

struct kernel_view {
    const char *name;
    const struct ig_variant *variant; /* NULL: not compiled */
    const char *failure;              /* NULL: none */
};

struct view {
    const char *path;
    bool is_archive;
    const struct ig_archive *archive; /* names, constants, compiler */
    struct kernel_view *kernels;
    size_t kernel_count;
};

static const char *space_name(uint32_t space) {
    switch (space) {
    case INGOT_SPACE_DEVICE:
        return "device";
    case INGOT_SPACE_THREADGROUP:
        return "threadgroup";
    case INGOT_SPACE_CONSTANT:
        return "constant";
    default:
        return "unknown";
    }
}

static void type_text(uint32_t scalar, uint32_t components, char out[32]) {
    const char *name = ig_scalar_name((ingot_scalar_type)scalar);
    if (components > 1) {
        snprintf(out, 32, "%sx%u", name, components);
    } else {
        snprintf(out, 32, "%s", name);
    }
}

/* ---- text -------------------------------------------------------------------------- */

static void print_argument(const struct ig_argument *a) {
    char type[160];
    snprintf(type, sizeof type, "%s%s %s %s", space_name(a->space),
             a->space == INGOT_SPACE_DEVICE && !a->writable ? " const" : "", a->type_name,
             a->is_reference ? "&" : "*");
    printf("  %s(%u)%-*s %-16s %-32s %" PRIu64 " bytes%s\n",
           a->kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "threadgroup", a->index,
           a->kind == INGOT_ARGUMENT_BUFFER ? 7 - (a->index > 9) : 2 - (a->index > 9), "", a->name,
           type, a->type_size, a->active ? "" : "  (absent)");
}

static void print_kernel(const struct kernel_view *kernel, const struct ig_archive *archive) {
    printf("%skernel %s%s", cli_bold(stdout), kernel->name, cli_plain(stdout));
    const struct ig_variant *v = kernel->variant;
    if (!v) {
        printf("  %s(%s)%s\n", cli_dim(stdout), kernel->failure ? kernel->failure : "not compiled",
               cli_plain(stdout));
        return;
    }
    printf("  %sat most %u threads per threadgroup, %u bytes of static threadgroup memory%s\n",
           cli_dim(stdout), v->max_threads, v->static_threadgroup_bytes, cli_plain(stdout));
    for (uint32_t i = 0; i < v->argument_count; i++) {
        print_argument(&v->arguments[i]);
    }
    struct ig_text values = {0};
    ig_archive_spell_constants(archive, v->constants, &values);
    for (uint32_t i = 0; i < v->code_count; i++) {
        printf("  %scode for %s, %zu bytes%s%s%s\n", cli_dim(stdout), v->codes[i].target,
               v->codes[i].size, *v->constants ? ", with " : "", ig_text_string(&values),
               cli_plain(stdout));
    }
    ig_text_free(&values);
}

static void print_view(const struct view *view) {
    printf("%s%s%s  %zu kernel%s%s%s\n", cli_bold(stdout), view->path, cli_plain(stdout),
           view->kernel_count, view->kernel_count == 1 ? "" : "s",
           view->is_archive ? ", made by " : "", view->is_archive ? view->archive->compiler : "");
    for (uint32_t i = 0; i < view->archive->constant_count; i++) {
        const struct ig_constant *c = &view->archive->constants[i];
        char type[32];
        type_text(c->scalar, c->components, type);
        printf("  function_constant(%u) %-24s %s%s\n", c->index, c->name, type,
               c->required ? "" : "  (optional)");
    }
    for (size_t i = 0; i < view->kernel_count; i++) {
        putchar('\n');
        print_kernel(&view->kernels[i], view->archive);
    }
}

/* ---- JSON -------------------------------------------------------------------------- */

static void write_argument(struct ig_json *json, const struct ig_argument *a) {
    char type[32];
    type_text(a->scalar, 1, type);
    ig_json_object(json, NULL);
    ig_json_u64(json, "index", a->index);
    ig_json_string(json, "name", a->name);
    ig_json_string(json, "kind", a->kind == INGOT_ARGUMENT_BUFFER ? "buffer" : "threadgroup");
    ig_json_string(json, "address_space", space_name(a->space));
    ig_json_string(json, "type", a->type_name);
    ig_json_u64(json, "size", a->type_size);
    ig_json_u64(json, "alignment", a->type_align);
    ig_json_string(json, "scalar", a->scalar ? type : NULL);
    ig_json_u64(json, "components", a->components);
    ig_json_bool(json, "reference", a->is_reference);
    ig_json_bool(json, "writable", a->writable);
    ig_json_bool(json, "active", a->active);
    ig_json_object_end(json);
}

static void write_kernel(struct ig_json *json, const struct kernel_view *kernel) {
    const struct ig_variant *v = kernel->variant;
    ig_json_object(json, NULL);
    ig_json_string(json, "name", kernel->name);
    ig_json_bool(json, "compiled", v != NULL);
    if (kernel->failure) {
        ig_json_string(json, "failure", kernel->failure);
    }
    if (v) {
        ig_json_string(json, "constants", v->constants);
        ig_json_u64(json, "max_threads_per_threadgroup", v->max_threads);
        ig_json_u64(json, "static_threadgroup_memory", v->static_threadgroup_bytes);
        ig_json_array(json, "arguments");
        for (uint32_t i = 0; i < v->argument_count; i++) {
            write_argument(json, &v->arguments[i]);
        }
        ig_json_array_end(json);
        ig_json_array(json, "code");
        for (uint32_t i = 0; i < v->code_count; i++) {
            ig_json_object(json, NULL);
            ig_json_string(json, "target", v->codes[i].target);
            ig_json_u64(json, "size", v->codes[i].size);
            ig_json_object_end(json);
        }
        ig_json_array_end(json);
    }
    ig_json_object_end(json);
}

static void write_view(const struct view *view) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "file", view->path);
    ig_json_string(&json, "format", view->is_archive ? "archive" : "source");
    ig_json_string(&json, "compiler", view->archive->compiler);
    ig_json_array(&json, "function_constants");
    for (uint32_t i = 0; i < view->archive->constant_count; i++) {
        const struct ig_constant *c = &view->archive->constants[i];
        ig_json_object(&json, NULL);
        ig_json_u64(&json, "index", c->index);
        ig_json_string(&json, "name", c->name);
        ig_json_string(&json, "type", ig_scalar_name((ingot_scalar_type)c->scalar));
        ig_json_u64(&json, "components", c->components);
        ig_json_bool(&json, "required", c->required);
        ig_json_object_end(&json);
    }
    ig_json_array_end(&json);
    ig_json_array(&json, "kernels");
    for (size_t i = 0; i < view->kernel_count; i++) {
        write_kernel(&json, &view->kernels[i]);
    }
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    printf("%s\n", ig_text_string(&text));
    ig_text_free(&text);
}

/* ---- gathering ------------------------------------------------------------------------ */

static int show(struct view *view, bool as_json, bool names_only) {
    if (as_json) {
        write_view(view);
    } else if (names_only) {
        for (size_t i = 0; i < view->kernel_count; i++) {
            puts(view->kernels[i].name);
        }
    } else {
        print_view(view);
    }
    for (size_t i = 0; i < view->kernel_count; i++) {
        if (view->kernels[i].failure) {
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}

/* Every variant of every kernel; a kernel without any is shown by name. */
static bool views_of_archive(struct ig_arena *arena, const struct cli_list *wanted,
                             struct view *view) {
    const struct ig_archive *archive = view->archive;
    view->kernels = ig_arena_array(
        arena, (size_t)archive->kernel_count + archive->variant_count + 1, sizeof *view->kernels);
    if (!view->kernels) {
        return false;
    }
    for (uint32_t k = 0; k < archive->kernel_count; k++) {
        const char *name = archive->kernels[k];
        bool found = wanted->count == 0, any = false;
        for (size_t i = 0; i < wanted->count; i++) {
            found |= !strcmp(wanted->items[i], name);
        }
        if (!found) {
            continue;
        }
        for (uint32_t v = 0; v < archive->variant_count; v++) {
            if (strcmp(archive->variants[v].kernel, name)) {
                continue;
            }
            view->kernels[view->kernel_count++] =
                (struct kernel_view){name, &archive->variants[v], NULL};
            any = true;
        }
        if (!any) {
            view->kernels[view->kernel_count++] = (struct kernel_view){name, NULL, NULL};
        }
    }
    return true;
}

static void append(void *to, uint32_t *count, const void *from, uint32_t more, size_t bytes) {
    if (more) {
        memcpy((char *)to + *count * bytes, from, more * bytes);
    }
    *count += more;
}

/* `all` and behind it `one`: kernels, variants and constants. */
static bool join(struct ig_arena *arena, struct ig_archive *all, const struct ig_archive *one) {
    const char **kernels =
        ig_arena_array(arena, (size_t)all->kernel_count + one->kernel_count + 1, sizeof *kernels);
    struct ig_variant *variants = ig_arena_array(
        arena, (size_t)all->variant_count + one->variant_count + 1, sizeof *variants);
    struct ig_constant *constants = ig_arena_array(
        arena, (size_t)all->constant_count + one->constant_count + 1, sizeof *constants);
    if (!kernels || !variants || !constants) {
        return false;
    }
    struct ig_archive both = *one;
    both.kernel_count = both.variant_count = both.constant_count = 0;
    append(kernels, &both.kernel_count, all->kernels, all->kernel_count, sizeof *kernels);
    append(kernels, &both.kernel_count, one->kernels, one->kernel_count, sizeof *kernels);
    append(variants, &both.variant_count, all->variants, all->variant_count, sizeof *variants);
    append(variants, &both.variant_count, one->variants, one->variant_count, sizeof *variants);
    append(constants, &both.constant_count, all->constants, all->constant_count, sizeof *constants);
    append(constants, &both.constant_count, one->constants, one->constant_count, sizeof *constants);
    both.kernels = kernels;
    both.variants = variants;
    both.constants = constants;
    *all = both;
    return true;
}

/* One archive, or several behind each other, as one list. */
static ingot_status read_archives(struct ig_arena *arena, const char *bytes, size_t size,
                                  struct ig_archive *all, struct ig_error *error) {
    *all = (struct ig_archive){0};
    size_t length = 0;
    for (size_t at = 0; at == 0 || at < size; at += length) {
        struct ig_archive one;
        length = ig_archive_length(bytes + at, size - at);
        if (ig_archive_read(arena, bytes + at, length, &one, error)) {
            return error->status;
        }
        if (length == size) {
            *all = one;
            break;
        }
        if (!join(arena, all, &one)) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
        }
    }
    return INGOT_OK;
}

static int inspect_archive(const char *path, const struct cli_list *wanted, bool as_json,
                           bool names_only) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct ig_archive archive;
    struct view view = {.path = path, .is_archive = true, .archive = &archive};
    char *bytes = NULL;
    size_t size;
    int result = CLI_FAILED;
    if (ig_file_read(path, 0, &bytes, &size, &error)) {
        cli_error("%s", ig_error_text(&error));
    } else if (read_archives(&arena, bytes, size, &archive, &error)) {
        cli_error("%s: %s", path, ig_error_text(&error));
    } else if (!views_of_archive(&arena, wanted, &view)) {
        cli_error("out of memory");
    } else if (wanted->count && !view.kernel_count) {
        cli_error("%s: there is no kernel \"%s\" among its %u", path, wanted->items[0],
                  archive.kernel_count);
    } else {
        result = show(&view, as_json, names_only);
    }
    free(bytes);
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return result;
}

static int inspect_source(const struct cli_compile_request *request, bool as_json,
                          bool names_only) {
    struct cli_compilation compilation;
    struct ig_error error = {0};
    int result = CLI_FAILED;
    ingot_status status = cli_compile(request, &compilation, &error);
    if (status == INGOT_COMPILE_ERROR) {
        cli_diagnostics(ig_error_text(&error));
    } else if (status) {
        cli_error("%s", ig_error_text(&error));
    } else {
        struct view view = {.path = request->path, .archive = compilation.listing};
        view.kernels =
            ig_arena_array(&compilation.arena, compilation.result_count + 1, sizeof *view.kernels);
        for (size_t i = 0; view.kernels && i < compilation.result_count; i++) {
            struct cli_kernel_result *r = &compilation.results[i];
            struct kernel_view *kernel = &view.kernels[view.kernel_count++];
            kernel->name = r->kernel;
            kernel->failure = r->status ? r->message : NULL;
            for (uint32_t v = 0; r->archive && v < r->archive->variant_count; v++) {
                if (!strcmp(r->archive->variants[v].kernel, r->kernel)) {
                    kernel->variant = &r->archive->variants[v];
                }
            }
        }
        result = show(&view, as_json, names_only);
    }
    ig_error_clear(&error);
    cli_compilation_free(&compilation);
    return result;
}

/* ---- compiled libraries ---- */

static void print_functions(const struct ig_metallib *library, bool names_only) {
    for (size_t i = 0; i < library->function_count; i++) {
        const struct ig_metallib_function *f = &library->functions[i];
        if (names_only) {
            if (f->type == IG_METALLIB_KERNEL) {
                puts(f->name);
            }
        } else {
            printf("  %-10s %8zu bytes  %s\n", ig_metallib_type_name(f->type), f->module_size,
                   f->name);
        }
    }
}

static void write_functions(struct ig_json *json, const struct ig_metallib *library, size_t at,
                            size_t length) {
    ig_json_object(json, NULL);
    ig_json_u64(json, "offset", at);
    ig_json_u64(json, "size", length);
    ig_json_u64(json, "os_major", library->os_major);
    ig_json_u64(json, "os_minor", library->os_minor);
    ig_json_array(json, "functions");
    for (size_t i = 0; i < library->function_count; i++) {
        const struct ig_metallib_function *f = &library->functions[i];
        ig_json_object(json, NULL);
        ig_json_string(json, "name", f->name);
        ig_json_string(json, "type", ig_metallib_type_name(f->type));
        ig_json_u64(json, "size", f->module_size);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
    ig_json_object_end(json);
}

static void print_library(const char *path, const struct ig_metallib *library, size_t at) {
    printf("%s%s%s  Apple's compiler made it for macOS %u.%u; %zu function%s", cli_bold(stdout),
           path, cli_plain(stdout), library->os_major, library->os_minor, library->function_count,
           library->function_count == 1 ? "" : "s");
    if (at) {
        printf(", at byte %zu", at);
    }
    putchar('\n');
}

/* Lists what is in it, from its table alone; `--kernel NAME` shows the arguments of a kernel. */
static int list_compiled(const char *path, bool as_json, bool names_only) {
    char *bytes = NULL;
    size_t size = 0, at = 0, length = 0, found = 0;
    struct ig_error error = {0};
    struct ig_arena arena = {0};
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ingot_status status = ig_file_read(path, 0, &bytes, &size, &error);
    ig_json_object(&json, NULL);
    ig_json_string(&json, "file", path);
    ig_json_string(&json, "format", "metallib");
    ig_json_array(&json, "libraries");
    for (; !status && ig_metallib_find(bytes, size, &at, &length); at += length, found++) {
        struct ig_metallib library;
        status = ig_metallib_read(&arena, bytes + at, length, &library, &error);
        if (!status && as_json) {
            write_functions(&json, &library, at, length);
        } else if (!status) {
            if (!names_only) {
                print_library(path, &library, at);
            }
            print_functions(&library, names_only);
        }
    }
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    if (!status && !found) {
        status = ig_metallib_none(bytes, size, &error);
    }
    if (status) {
        cli_error("%s: %s", path, ig_error_text(&error));
    } else if (as_json) {
        printf("%s\n", ig_text_string(&text));
    }
    ig_text_free(&text);
    ig_arena_free(&arena);
    ig_error_clear(&error);
    free(bytes);
    return status ? CLI_FAILED : CLI_OK;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    bool as_json = false, names_only = false;
    struct cli_source_options source = {0};
    struct cli_list kernels = {0}, constants = {0}, targets = {0}, files = {0};
    const struct cli_option options[] = {
        {"json", 0, CLI_FLAG, NULL, "print JSON; keys are only ever added", &as_json},
        {"kernel", 'k', CLI_LIST, "NAME", "only this kernel; may be repeated", &kernels},
        {"names", 0, CLI_FLAG, NULL, "only the names of the kernels; compiles nothing",
         &names_only},
        {"const", 0, CLI_LIST, "NAME_OR_INDEX=VALUE", "a function constant's value", &constants},
        CLI_SOURCE_OPTIONS(source),
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &files, &status)) {
        if (files.count != 1) {
            status = cli_usage_error(command, "expected one FILE, but %zu were given", files.count);
        } else if (cli_is_archive(files.items[0])) {
            status = inspect_archive(files.items[0], &kernels, as_json, names_only);
        } else if (cli_is_library(files.items[0]) && !kernels.count) {
            status = list_compiled(files.items[0], as_json, names_only);
        } else {
            status = inspect_source(&(struct cli_compile_request){.path = files.items[0],
                                                                  .options = &source,
                                                                  .kernels = &kernels,
                                                                  .targets = &targets,
                                                                  .constants = &constants,
                                                                  .assume_constants = true,
                                                                  .list_only = names_only,
                                                                  .describe_only = true},
                                    as_json, names_only);
        }
    }
    cli_list_free(&files);
    cli_list_free(&kernels);
    cli_list_free(&constants);
    cli_source_options_free(&source);
    return status;
}

const struct cli_command cli_inspect = {
    .name = "inspect",
    .summary = "kernels, their arguments, and function constants",
    .usage = "FILE [--json] [--names] [--kernel NAME]...",
    .help =
        "Shows the kernels of a Metal source or of an .ingot archive: for each argument its\n"
        "index, name, kind, address space, type and size; and the function constants. In\n"
        "source, function constants that get no value by --const are taken as 1 (true); no code\n"
        "is made (`ingot check` does that).",
    .examples = "  ingot inspect examples/saxpy.metal\n"
                "  ingot inspect lib.ingot --json | jq '.kernels[].name'",
    .run = run,
};
