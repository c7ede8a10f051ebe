/* `ingot pack`: compiles files ahead of time, and merges them and archives into one. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/archive.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"

/* One FILE: a compilation of source, or an archive that was read. */
struct input {
    const char *path;
    struct cli_compilation compilation;
    struct ig_archive archive; /* when it was one already */
    char *bytes;
    bool is_archive;
};

struct pack {
    struct ig_arena arena;
    struct cli_compile_request request;
    struct cli_list kernels, targets, constants, files;
    struct cli_source_options source;
    const char *output;
    bool emit_c, no_source, as_json, quiet;
    bool for_metal; /* a target is "metal" */
    struct ig_code metal_text;
    struct input *inputs;
    struct ig_archive merged;
    size_t later; /* kernels that wait for values of their constants */
};

static bool out_of_memory(void) {
    cli_error("out of memory");
    return false;
}

/* ---- reading and compiling ------------------------------------------------------------ */

static bool read_input(struct pack *pack, struct input *input) {
    struct ig_error error = {0};
    size_t size;
    bool good = !ig_file_read(input->path, 0, &input->bytes, &size, &error);
    if (good && ig_archive_length(input->bytes, size) < size) {
        cli_error("%s: it holds several archives, which ingot-xcrun has joined; pack what they "
                  "were made of",
                  input->path);
        return false;
    }
    good = good && !ig_archive_read(&pack->arena, input->bytes, size, &input->archive, &error);
    if (!good) {
        cli_error("%s: %s", input->path, ig_error_text(&error));
    }
    ig_error_clear(&error);
    return good;
}

/* A kernel that cannot be made without values for its constants is no failure: the archive
 * keeps the source, and the values come when the kernel is created. */
static bool waits_for_constants(const struct cli_kernel_result *result) {
    return result->status == INGOT_COMPILE_ERROR && strstr(result->message, "function constant") &&
           strstr(result->message, "no value");
}

/* A kernel that uses what ingot does not have (textures, …), and was not asked for by name, is left
 * out. Its name stays, so that asking for it says why. */
static bool is_left_out(const struct pack *pack, const struct cli_kernel_result *result) {
    const char *line = strstr(result->message, ": error: ");
    const char *end = line ? line + strcspn(line, "\n") : NULL;
    static const char words[] = " not supported";
    size_t length = strlen(words);
    return result->status == INGOT_COMPILE_ERROR && !pack->kernels.count && line &&
           (size_t)(end - line) > length && !memcmp(end - length, words, length);
}

static void report_left_out(const struct cli_kernel_result *result) {
    const char *mark = strstr(result->message, ": error: ");
    const char *words = mark + strlen(": error: ");
    size_t place = 0;
    while (&result->message[place] < mark && result->message[place] != '\n') {
        place++;
    }
    cli_warning("%.*s: %.*s; kernel \"%s\" is left out", (int)place, result->message,
                (int)strcspn(words, "\n"), words, result->kernel);
}

static bool compile_input(struct pack *pack, struct input *input) {
    struct ig_error error = {0};
    pack->request.path = input->path;
    ingot_status status = cli_compile(&pack->request, &input->compilation, &error);
    bool good = status == INGOT_OK;
    if (status == INGOT_COMPILE_ERROR) {
        cli_diagnostics(ig_error_text(&error));
    } else if (status) {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    for (size_t i = 0; !pack->request.list_only && i < input->compilation.result_count; i++) {
        struct cli_kernel_result *result = &input->compilation.results[i];
        if (waits_for_constants(result)) {
            pack->later++;
        } else if (is_left_out(pack, result)) {
            report_left_out(result);
        } else if (result->status == INGOT_COMPILE_ERROR) {
            cli_diagnostics(result->message);
            good = false;
        } else if (result->status) {
            cli_error("%s: kernel %s: %s", input->path, result->kernel, result->message);
            good = false;
        } else if (*result->message && !pack->quiet) {
            cli_diagnostics(result->message);
        }
    }
    return good;
}

/* ---- merging ----------------------------------------------------------------------------- */

static bool add_constants(struct pack *pack, struct ig_constant *constants,
                          const struct ig_archive *from, const char *path) {
    for (uint32_t i = 0; i < from->constant_count; i++) {
        const struct ig_constant *c = &from->constants[i];
        uint32_t k = 0;
        while (k < pack->merged.constant_count && constants[k].index != c->index) {
            k++;
        }
        if (k == pack->merged.constant_count) {
            constants[pack->merged.constant_count++] = *c;
        } else if (strcmp(constants[k].name, c->name) || constants[k].scalar != c->scalar ||
                   constants[k].components != c->components) {
            cli_error("%s: function constant %u is %s, but another file calls it %s; pack them "
                      "into two archives",
                      path, c->index, c->name, constants[k].name);
            return false;
        }
    }
    return true;
}

static bool add_kernel(struct pack *pack, const char **names, const char *name, const char *path) {
    for (uint32_t i = 0; i < pack->merged.kernel_count; i++) {
        if (!strcmp(names[i], name)) {
            cli_error("%s: kernel %s is in an earlier file too; names must differ in one archive",
                      path, name);
            return false;
        }
    }
    names[pack->merged.kernel_count++] = name;
    for (size_t i = 0; i < pack->kernels.count; i++) {
        pack->request.found[i] |= !strcmp(pack->kernels.items[i], name);
    }
    return true;
}

static bool is_wanted(const struct pack *pack, const char *kernel) {
    for (size_t i = 0; i < pack->kernels.count; i++) {
        if (!strcmp(pack->kernels.items[i], kernel)) {
            return true;
        }
    }
    return pack->kernels.count == 0;
}

/* Those of one kernel, or (NULL) of all that are wanted. */
static void add_variants(struct pack *pack, struct ig_variant *variants,
                         const struct ig_archive *from, const char *kernel) {
    for (uint32_t i = 0; i < from->variant_count; i++) {
        if (kernel ? !strcmp(from->variants[i].kernel, kernel)
                   : is_wanted(pack, from->variants[i].kernel)) {
            variants[pack->merged.variant_count++] = from->variants[i];
        }
    }
}

static bool merge_input(struct pack *pack, struct input *input, const char **names,
                        struct ig_constant *constants, struct ig_variant *variants) {
    const struct ig_archive *listing =
        input->is_archive ? &input->archive : input->compilation.listing;
    if (!add_constants(pack, constants, listing, input->path)) {
        return false;
    }
    for (uint32_t k = 0; k < listing->kernel_count; k++) {
        if (is_wanted(pack, listing->kernels[k]) &&
            !add_kernel(pack, names, listing->kernels[k], input->path)) {
            return false;
        }
    }
    if (input->is_archive) {
        add_variants(pack, variants, listing, NULL);
    }
    for (size_t i = 0; i < input->compilation.result_count; i++) {
        if (input->compilation.results[i].archive) {
            add_variants(pack, variants, input->compilation.results[i].archive,
                         input->compilation.results[i].kernel);
        }
    }
    return true;
}

static bool merge(struct pack *pack) {
    size_t kernels = 0, constants = 0, variants = 0, count = pack->files.count;
    for (size_t i = 0; i < count; i++) {
        struct input *input = &pack->inputs[i];
        const struct ig_archive *listing =
            input->is_archive ? &input->archive : input->compilation.listing;
        kernels += listing->kernel_count;
        constants += listing->constant_count;
        variants += input->is_archive ? listing->variant_count : 0;
        for (size_t r = 0; r < input->compilation.result_count; r++) {
            if (input->compilation.results[r].archive) {
                variants += input->compilation.results[r].archive->variant_count;
            }
        }
    }
    const char **names = ig_arena_array(&pack->arena, kernels + 1, sizeof *names);
    struct ig_constant *merged_constants =
        ig_arena_array(&pack->arena, constants + 1, sizeof *merged_constants);
    struct ig_variant *merged_variants =
        ig_arena_array(&pack->arena, variants + 2, sizeof *merged_variants);
    if (!names || !merged_constants || !merged_variants) {
        return out_of_memory();
    }
    pack->merged.kernels = names;
    pack->merged.constants = merged_constants;
    pack->merged.variants = merged_variants;
    for (size_t i = 0; i < count; i++) {
        if (!merge_input(pack, &pack->inputs[i], names, merged_constants, merged_variants)) {
            return false;
        }
    }
    if (pack->for_metal) { /* the text of all kernels (base/source_text.h) */
        merged_variants[pack->merged.variant_count++] = (struct ig_variant){
            .kernel = "", .constants = "", .code_count = 1, .codes = &pack->metal_text};
    }
    const struct ig_archive *first =
        pack->inputs[0].is_archive ? &pack->inputs[0].archive : pack->inputs[0].compilation.listing;
    bool keep_source = count == 1 && !pack->no_source;
    pack->merged.compiler = first->compiler;
    pack->merged.source_name = count == 1 ? first->source_name : "";
    pack->merged.source = keep_source ? first->source : "";
    pack->merged.options = keep_source ? first->options : "";
    pack->merged.warnings = "";
    pack->merged.packs_code = true;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A word of C or C++ cannot be a name of either. */
static bool is_keyword(const char *name) {
    static const char words[] =
        " alignas alignof and asm auto bitand bitor bool break case catch char class compl concept "
        "const constexpr continue decltype default delete do double else enum explicit export "
        "extern false float for friend goto if inline int long mutable namespace new noexcept not "
        "nullptr operator or private protected public register requires restrict return short "
        "signed sizeof static struct switch template this throw true try typedef typeid typename "
        "typeof union unsigned using virtual void volatile wchar_t while xor main ";
    const char *at = *name ? strstr(words, name) : NULL;
    for (; at; at = strstr(at + 1, name)) {
        if (at[-1] == ' ' && at[strlen(name)] == ' ') {
            return true;
        }
    }
    return false;
}

/* "dir/lib-v1.ingot" → "dir/lib-v1" and "lib_v1"; "for.ingot" → "for" and "_for" */
static bool names_of_c(struct pack *pack, char **stem, char **symbol) {
    const char *slash = strrchr(pack->output, '/');
    const char *start = slash ? slash + 1 : pack->output;
    const char *dot = strrchr(start, '.');
    size_t end = dot && dot != start ? (size_t)(dot - pack->output) : strlen(pack->output);
    *stem = ig_arena_copy(&pack->arena, pack->output, end);
    const char *name = *stem ? *stem + (start - pack->output) : "";
    bool taken = isdigit((unsigned char)*name) || is_keyword(name);
    *symbol = ig_arena_printf(&pack->arena, "%s%s", taken ? "_" : "", name);
    if (!*stem || !*symbol) {
        return out_of_memory();
    }
    for (char *c = *symbol; *c; c++) {
        if (!isalnum((unsigned char)*c)) {
            *c = '_';
        }
    }
    return true;
}

static bool write_text(const char *path, const struct ig_text *text) {
    struct ig_error error = {0};
    if (text->failed) {
        return out_of_memory();
    }
    if (ig_file_write(path, text->data, text->size, &error)) {
        cli_error("%s", ig_error_text(&error));
        ig_error_clear(&error);
        return false;
    }
    return true;
}

static bool write_c(struct pack *pack, const uint8_t *bytes, size_t size) {
    char *stem, *symbol;
    if (!names_of_c(pack, &stem, &symbol)) {
        return false;
    }
    const char *source = ig_arena_printf(&pack->arena, "%s.c", stem);
    const char *header = ig_arena_printf(&pack->arena, "%s.h", stem);
    if (!source || !header) {
        return out_of_memory();
    }
    const char *slash = strrchr(header, '/');
    struct ig_text text = {0};
    ig_text_printf(&text,
                   "/* Made by `ingot pack --emit-c`: an .ingot archive for\n"
                   " * ingot_library_create_from_memory(device, %s, %s_size, &library). */\n"
                   "#ifndef INGOT_PACK_%s_H\n#define INGOT_PACK_%s_H\n\n#include <stddef.h>\n\n"
                   "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
                   "extern const unsigned char %s[];\nextern const size_t %s_size;\n"
                   "#ifdef __cplusplus\n}\n#endif\n#endif\n",
                   symbol, symbol, symbol, symbol, symbol, symbol);
    bool good = write_text(header, &text);
    ig_text_free(&text);
    if (!good) {
        return false;
    }
    ig_text_printf(&text,
                   "/* Made by `ingot pack --emit-c`. */\n#include \"%s\"\n\n"
                   "const size_t %s_size = %zu;\n"
                   "_Alignas(64) const unsigned char %s[] = {\n",
                   slash ? slash + 1 : header, symbol, size, symbol);
    for (size_t i = 0; i < size; i++) {
        ig_text_printf(&text, "%u,%s", bytes[i], i % 20 == 19 ? "\n" : "");
    }
    ig_text_puts(&text, "};\n");
    good = write_text(source, &text);
    ig_text_free(&text);
    if (good && !pack->quiet && !pack->as_json) {
        printf("wrote %s and %s\n", source, header);
    }
    return good;
}

static void report(const struct pack *pack, size_t size) {
    char buffer[32];
    if (pack->as_json) {
        struct ig_text text = {0};
        struct ig_json json = {.out = &text};
        ig_json_object(&json, NULL);
        ig_json_string(&json, "archive", pack->output);
        ig_json_u64(&json, "bytes", size);
        ig_json_u64(&json, "kernels", pack->merged.kernel_count);
        ig_json_u64(&json, "variants", pack->merged.variant_count);
        ig_json_u64(&json, "waiting_for_constants", pack->later);
        ig_json_object_end(&json);
        printf("%s\n", ig_text_string(&text));
        ig_text_free(&text);
    } else if (!pack->quiet) {
        printf("wrote %s: %u kernel%s, %u with code, %s\n", pack->output, pack->merged.kernel_count,
               pack->merged.kernel_count == 1 ? "" : "s", pack->merged.variant_count,
               cli_bytes(size, buffer));
    }
    if (pack->later && !pack->quiet) {
        cli_warning("%zu kernel%s no code, since function constants have no value; %s", pack->later,
                    pack->later == 1 ? " has" : "s have",
                    *pack->merged.source ? "the source is kept, and ingotc compiles them when used"
                                         : "give values by --const, or pack the file alone");
    }
}

static bool pack_files(struct pack *pack) {
    pack->inputs = ig_arena_array(&pack->arena, pack->files.count, sizeof *pack->inputs);
    pack->request.found = ig_arena_array(&pack->arena, pack->kernels.count + 1, sizeof(bool));
    if (!pack->inputs || !pack->request.found) {
        return out_of_memory();
    }
    bool good = true;
    if (pack->for_metal &&
        !cli_metal_text(&pack->arena, pack->files.items[0], &pack->source, &pack->metal_text)) {
        return false;
    }
    for (size_t i = 0; i < pack->files.count; i++) {
        struct input *input = &pack->inputs[i];
        cli_progress_part(i + 1, pack->files.count);
        input->path = pack->files.items[i];
        input->is_archive = cli_is_archive(input->path);
        good &= input->is_archive ? read_input(pack, input) : compile_input(pack, input);
    }
    if (!good || !merge(pack)) {
        return false;
    }
    if (pack->kernels.count && pack->merged.kernel_count < pack->kernels.count) {
        return !cli_report_missing(&pack->request);
    }
    void *bytes = NULL;
    size_t size;
    struct ig_error error = {0};
    good = !ig_archive_write(&pack->merged, &bytes, &size, &error) &&
           !ig_file_write(pack->output, bytes, size, &error);
    if (!good) {
        cli_error("%s", ig_error_text(&error));
    } else {
        report(pack, size);
    }
    if (good && pack->emit_c) {
        good = write_c(pack, bytes, size);
    }
    free(bytes);
    ig_error_clear(&error);
    return good;
}

static void release(struct pack *pack) {
    for (size_t i = 0; pack->inputs && i < pack->files.count; i++) {
        cli_compilation_free(&pack->inputs[i].compilation);
        free(pack->inputs[i].bytes);
    }
    cli_list_free(&pack->files);
    cli_list_free(&pack->kernels);
    cli_list_free(&pack->targets);
    cli_list_free(&pack->constants);
    cli_source_options_free(&pack->source);
    ig_arena_free(&pack->arena);
}

/* Writing the archive must not destroy what was typed by hand, nor be undone by the C file. */
static const char *wrong_output(const struct pack *pack) {
    struct stat output, input;
    size_t length = strlen(pack->output);
    if (pack->emit_c && length > 2 &&
        (!strcmp(pack->output + length - 2, ".c") || !strcmp(pack->output + length - 2, ".h"))) {
        return "is the name of a file that --emit-c writes; expected LIB.ingot";
    }
    if (stat(pack->output, &output)) {
        return NULL;
    }
    for (size_t i = 0; i < pack->files.count; i++) {
        if (!stat(pack->files.items[i], &input) && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino && !cli_is_archive(pack->files.items[i])) {
            return "is one of the sources, and would be overwritten";
        }
    }
    return NULL;
}

/* Takes "metal" off the targets, which are else ingotc's. */
static void take_metal(struct pack *pack) {
    size_t kept = 0;
    for (size_t i = 0; i < pack->targets.count; i++) {
        if (!strcmp(pack->targets.items[i], "metal")) {
            pack->for_metal = true;
        } else {
            pack->targets.items[kept++] = pack->targets.items[i];
        }
    }
    pack->targets.count = kept;
}

static bool is_one_source(const struct pack *pack) {
    return pack->files.count == 1 && !cli_is_archive(pack->files.items[0]) &&
           !cli_is_compiled(pack->files.items[0]);
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct pack pack = {0};
    const struct cli_option options[] = {
        {"output", 'o', CLI_STRING, "LIB.ingot", "the archive to write", &pack.output},
        {"kernel", 'k', CLI_LIST, "NAME", "only this kernel; may be repeated", &pack.kernels},
        {"target", 0, CLI_LIST, "LEVEL",
         "x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-bf16-amx, aarch64, aarch64-bf16, sm_80, "
         "sm_90, sm_90a, "
         "sm_90.cubin, "
         "cpu-levels (the "
         "levels of this kind of CPU), or metal (the text, for Metal's compiler); may be repeated",
         &pack.targets},
        {"const", 0, CLI_LIST, "NAME_OR_INDEX=VALUE", "a function constant's value",
         &pack.constants},
        {"emit-c", 0, CLI_FLAG, NULL, "also write LIB.c and LIB.h with the archive's bytes",
         &pack.emit_c},
        {"no-source", 0, CLI_FLAG, NULL, "leave the source out of the archive", &pack.no_source},
        {"json", 0, CLI_FLAG, NULL, "print JSON; keys are only ever added", &pack.as_json},
        {"quiet", 'q', CLI_FLAG, NULL, "print nothing but errors", &pack.quiet},
        CLI_SOURCE_OPTIONS(pack.source),
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &pack.files, &status)) {
        take_metal(&pack);
        if (!pack.files.count) {
            status = cli_usage_error(command, "expected at least one FILE");
        } else if (!pack.output) {
            status = cli_usage_error(command, "expected -o LIB.ingot");
        } else if (wrong_output(&pack)) {
            status = cli_usage_error(command, "-o %s %s", pack.output, wrong_output(&pack));
        } else if (pack.for_metal && !is_one_source(&pack)) {
            status = cli_usage_error(command, "--target metal takes one source, since Metal "
                                              "compiles one text for an archive");
        } else if (!pack.targets.count && !pack.for_metal &&
                   !cli_list_add(&pack.targets, "cpu-levels")) {
            status = CLI_FAILED;
        } else {
            pack.request = (struct cli_compile_request){.options = &pack.source,
                                                        .files = &pack.files,
                                                        .kernels = &pack.kernels,
                                                        .targets = &pack.targets,
                                                        .constants = &pack.constants,
                                                        .list_only = !pack.targets.count};
            status = pack_files(&pack) ? CLI_OK : CLI_FAILED;
        }
    }
    release(&pack);
    return status;
}

const struct cli_command cli_pack = {
    .name = "pack",
    .summary = "compile ahead of time into an .ingot archive",
    .usage = "FILE... -o LIB.ingot [--kernel NAME]... [--target LEVEL]... [--emit-c]",
    .help =
        "Compiles every kernel of each FILE for each target, and writes one archive, which runs\n"
        "without a compiler. FILEs may be archives too: they are merged. An archive of a\n"
        "single source keeps the source, so that kernels can be specialised later.",
    .examples = "  ingot pack softmax.metal norm.metal -o kernels.ingot\n"
                "  ingot pack gemm.metal -o gemm.ingot --const has_bias=1 --emit-c",
    .run = run,
};
