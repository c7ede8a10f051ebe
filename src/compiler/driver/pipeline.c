/*
 * A source file to an archive, to be read from the end (igc_run) upwards: the front end, then each
 * kernel (compile.c), then what is written. compile.c has a kernel's way from clang's bitcode to
 * code.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/file.h"
#include "base/sanitize.h"
#include "compiler/driver/driver.h"
#include "compiler/ir/module.h"

enum { JIT_KERNELS = 4, NEIGHBOURS = 4, FEW_KERNELS = 16, CHECKED_KERNELS = 32 };

/* ---- the kernels of one clang run ---- */

/* What clang made of them. */
struct clang_output {
    const void *bitcode;
    size_t size;
    const char *warnings;
    LLVMModuleRef module; /* parsed, for whoever may use it up; or NULL */
};

static ingot_status parse(LLVMContextRef context, const struct clang_output *from,
                          LLVMModuleRef *module, struct ig_error *error) {
    double start = igc_time_now();
    igc_progress_at("parse bitcode");
    ingot_status status = igc_module_parse(context, from->bitcode, from->size, module, error);
    igc_time_add("parse bitcode", igc_time_now() - start);
    return status;
}

static ingot_status compile_bitcode(struct ig_arena *arena, const struct igc_batch *batch,
                                    const struct clang_output *from, const struct igc_job *job,
                                    struct ig_variant *variant, struct ig_error *error) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;
    ingot_status status = parse(context, from, &module, error);
    if (!status) {
        status =
            igc_compile_module(arena, module, batch->command, job, batch->emitted, variant, error);
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(context);
    return status;
}

/* May missing constants be ones, to see whether a kernel compiles? Those of a compiled library are
 * each kernel's own: who asks for many by name cannot give the values of all. */
static bool may_fill(const struct igc_command *command) {
    return !command->kernel_count ||
           (command->assumed_constants && (command->check || command->no_code));
}

/* Where no code is kept, missing constants are ones from the start, unless the source asks which
 * constants have values: most kernels that name one need it. */
static bool fills_at_once(const struct igc_batch *batch) {
    const struct igc_command *command = batch->command;
    const char *text = batch->source->preprocessed;
    return (command->check || command->no_code) && may_fill(command) && !command->jit && text &&
           !strstr(text, "is_function_constant_defined");
}

/* A kernel that was not asked for by name and lacks a constant is compiled with ones for the
 * missing values, to see whether it compiles, and has no code in the archive. With --jit, what
 * cannot be compiled here has no code either: its error is reported when it is asked for. */
static void compile_kernel(struct ig_arena *arena, const struct igc_batch *batch,
                           const struct clang_output *from, size_t index) {
    const struct igc_command *command = batch->command;
    const size_t position = batch->first + index;
    struct ig_variant variant = {0};
    struct ig_error error = {0};
    struct ig_text own = {0};
    const char *warnings = from->warnings;
    struct igc_job job = igc_job_of(command, batch->source, batch->kernels[index]);
    job.warnings = &own;
    bool filled = false;
    job.fill_constants = fills_at_once(batch);
    job.filled = &filled;
    ingot_status status = from->module
                              ? igc_compile_module(arena, from->module, command, &job,
                                                   batch->emitted, &variant, &error)
                              : compile_bitcode(arena, batch, from, &job, &variant, &error);
    bool lacks_constant = status == INGOT_NOT_FOUND && may_fill(command);
    if (lacks_constant && !command->jit) {
        job.fill_constants = true;
        status = compile_bitcode(arena, batch, from, &job, &variant, &error);
    }
    if (own.size && command->front.werror && !status) {
        status = igc_fail_for_warnings(ig_text_string(&own), &error);
    }
    if (own.size) {
        warnings = ig_arena_printf(arena, "%s%s", warnings, ig_text_string(&own));
        warnings = warnings ? warnings : "";
    }
    if (command->jit ? status : (lacks_constant || filled) && !status) {
        batch->done(batch->context, position, NULL, warnings, NULL);
    } else {
        batch->done(batch->context, position, status ? NULL : &variant, warnings,
                    status ? &error : NULL);
    }
    ig_text_free(&own);
    ig_error_clear(&error);
}

/* A kernel of a batch that is `apart` is compiled by a child process, from a module that all of
 * them share: what a child does to its copy, no other sees. */
static void compile_kernels_of(struct ig_arena *arena, const struct igc_batch *batch,
                               struct clang_output *from) {
    LLVMContextRef context = batch->apart ? LLVMContextCreate() : NULL;
    struct ig_error ignored = {0}; /* each kernel finds it for itself */
    if (context && parse(context, from, &from->module, &ignored)) {
        from->module = NULL;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->apart && !batch->apart(batch->context, batch->first + i)) {
            continue;
        }
        if (batch->limited) {
            igc_limit_start(&batch->command->front.limits, batch->kernels[i]);
        }
        compile_kernel(arena, batch, from, i);
        if (batch->limited) {
            igc_limit_end();
        }
        if (batch->apart) {
            batch->end(batch->context);
        }
    }
    if (from->module) {
        LLVMDisposeModule(from->module);
    }
    if (context) {
        LLVMContextDispose(context);
    }
    ig_error_clear(&ignored);
}

/* Whether clang takes the source without any of its kernels. */
static bool is_good_without_kernels(struct igc_source *source, const struct igc_options *options) {
    const char *const none[] = {NULL};
    struct igc_compiled compiled;
    struct ig_error error = {0};
    bool good = !igc_source_compile(source, options, none, 0, &compiled, &error);
    ig_error_clear(&error);
    return good;
}

/* If clang refuses the kernels, each is tried alone, so that one wrong kernel does not fail the
 * others; but what is wrong around them is wrong for all. */
static bool try_alone(struct ig_arena *arena, const struct igc_batch *batch) {
    bool good = is_good_without_kernels(batch->source, &batch->command->front);
    for (size_t i = 0; i < batch->count && good; i++) {
        struct igc_batch single = *batch;
        single.kernels += i;
        single.first += i;
        single.count = 1;
        igc_compile_batch(arena, &single);
    }
    return good;
}

static ingot_status run_clang(const struct igc_batch *batch, struct igc_compiled *made,
                              struct ig_error *error) {
    const struct igc_options *options = &batch->command->front;
    if (batch->neighbours) {
        ingot_status status = igc_source_compile(batch->source, options, batch->neighbours,
                                                 batch->neighbour_count, made, error);
        if (status != INGOT_COMPILE_ERROR) {
            return status;
        }
        ig_error_clear(error);
    }
    return igc_source_compile(batch->source, options, batch->kernels, batch->count, made, error);
}

void igc_compile_batch(struct ig_arena *arena, const struct igc_batch *batch) {
    struct igc_compiled made = {.warnings = NULL};
    struct ig_error error = {0};
    double start = igc_time_now();
    igc_progress_at("clang");
    ingot_status status = run_clang(batch, &made, &error);
    igc_time_add("clang", igc_time_now() - start);
    struct clang_output from = {
        .bitcode = made.bitcode, .size = made.size, .warnings = made.warnings ? made.warnings : ""};
    if (status == INGOT_COMPILE_ERROR && batch->count > 1 && try_alone(arena, batch)) {
        ig_error_clear(&error);
        return;
    }
    if (!status && batch->command->describe_only) {
        igc_describe_batch(arena, batch, from.bitcode, from.size, from.warnings);
    } else if (!status) {
        compile_kernels_of(arena, batch, &from);
    }
    for (size_t i = 0; i < batch->count && status; i++) {
        batch->done(batch->context, batch->first + i, NULL, "", &error);
    }
    ig_error_clear(&error);
}

/* ---- one source file ---- */

/* Precompiled headers take some 13 MB each: with less than room for two of them, each compilation
 * would remove what the next one needs. */
#define PCH_ROOM ((uint64_t)32 << 20)

static ingot_status find_cache(struct ig_arena *arena, const char **folder,
                               struct ig_error *error) {
    uint64_t limit;
    ingot_status status = ig_cache_limit(&limit, error);
    char *cache = limit >= PCH_ROOM ? ig_cache_folder() : NULL;
    const char *copy = cache ? ig_arena_string(arena, cache) : NULL;
    *folder = copy ? copy : "";
    free(cache);
    return status;
}

static ingot_status open_source(struct ig_arena *arena, struct igc_command *command,
                                struct igc_source *source, struct ig_error *error) {
    const char *text;
    size_t size;
    ingot_status status = igc_read_source(arena, command->source_path, &text, &size, error);
    if (!status) {
        status = igc_find_clang(arena, &command->front.clang, error);
    }
    if (!status) {
        status = igc_find_prelude(arena, &command->front.prelude_dir, error);
    }
    if (!status) {
        status = find_cache(arena, &command->front.cache_dir, error);
    }
    if (status) {
        return status;
    }
    double start = igc_time_now();
    status =
        igc_source_open(arena, &command->front, text, size, command->preprocessed, source, error);
    if (!status) {
        /* kernels of a compiled library have constants of their own: of all when it has few */
        const bool few = source->kernel_count <= CHECKED_KERNELS;
        const bool named = command->kernel_count > 0;
        status = igc_source_find_constants(source, &command->front,
                                           named ? command->kernels : source->kernels,
                                           named ? command->kernel_count
                                           : few ? source->kernel_count
                                                 : 0,
                                           error);
    }
    igc_time_add("preprocess and scan", igc_time_now() - start);
    return status;
}

/* The kernels and constants of the command line against those of the source. */
static ingot_status check_names(const struct igc_command *command, const struct igc_source *source,
                                struct ig_error *error) {
    for (size_t i = 0; i < command->kernel_count; i++) {
        size_t k = 0;
        while (k < source->kernel_count && strcmp(source->kernels[k], command->kernels[i])) {
            k++;
        }
        if (k == source->kernel_count) {
            return ig_fail(error, INGOT_COMPILE_ERROR,
                           "%s has no kernel named %s among its %zu%s%s",
                           command->front.source_name, command->kernels[i], source->kernel_count,
                           source->kernel_count ? ", the first of which is " : "",
                           source->kernel_count ? source->kernels[0] : "");
        }
    }
    for (size_t i = 0; i < command->value_count; i++) {
        const struct igc_value *value = &command->values[i];
        for (size_t k = 0; k < source->constant_count; k++) {
            const struct ig_constant *constant = &source->constants[k];
            if (constant->index == value->index && constant->size != value->size &&
                !(constant->components == 3 && constant->size == value->size / 3 * 4)) {
                return ig_fail(error, INGOT_COMPILE_ERROR,
                               "function constant %s (index %u) has %u bytes, but the value given "
                               "has %zu",
                               constant->name, constant->index, constant->size, value->size);
            }
        }
    }
    return INGOT_OK;
}

/* To the file named, or to stdout. */
static ingot_status write_output(const struct igc_command *command, const void *bytes, size_t size,
                                 struct ig_error *error) {
    if (strcmp(command->output, "-")) {
        return ig_file_write(command->output, bytes, size, error);
    }
    bool written = fwrite(bytes, 1, size, stdout) == size && !fflush(stdout);
    return written ? INGOT_OK
                   : ig_fail(error, INGOT_IO_ERROR, "could not write %zu bytes to stdout: %s", size,
                             strerror(errno));
}

/* What a compilation of another variant from the archive needs. */
static const char *recompile_options(struct ig_arena *arena, const struct igc_command *command) {
    struct ig_text kinds = {0};
    ig_sanitize_print(command->sanitize, &kinds);
    const char *options = ig_arena_printf(
        arena, "%s%s%s--msl-version %u%s%s", command->front.fast_math ? "--fast-math " : "",
        command->front.werror ? "--werror " : "",
        command->loose_alignment ? "--loose-alignment " : "", command->front.msl_version,
        command->sanitize ? " --sanitize=" : "", ig_text_string(&kinds));
    ig_text_free(&kinds);
    return options;
}

static ingot_status write_archive(struct ig_arena *arena, const struct igc_command *command,
                                  const struct igc_source *source,
                                  const struct igc_batch_result *result, struct ig_error *error) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    struct ig_archive archive = {
        .compiler = ig_arena_printf(arena, "ingotc %d.%d.%d, LLVM %u.%u.%u", INGOT_VERSION_MAJOR,
                                    INGOT_VERSION_MINOR, INGOT_VERSION_PATCH, major, minor, patch),
        .source_name = command->front.source_name,
        .source = command->no_source ? "" : source->preprocessed,
        .options = recompile_options(arena, command),
        .warnings = result->warnings,
        .kernel_count = (uint32_t)source->kernel_count,
        .constant_count = (uint32_t)source->constant_count,
        .variant_count = result->variant_count,
        .dependency_count = command->front.root ? 0 : (uint32_t)source->dependency_count,
        .kernels = source->kernels,
        .constants = source->constants,
        .variants = result->variants,
        .dependencies = source->dependencies,
        .packs_code = command->pack_code,
    };
    void *bytes;
    size_t size;
    ingot_status status = ig_archive_write(&archive, &bytes, &size, error);
    if (!status) {
        status = write_output(command, bytes, size, error);
        free(bytes);
    }
    return status;
}

/* "OUT: SOURCE INCLUDED...", with spaces escaped. */
static ingot_status write_depfile(const struct igc_command *command,
                                  const struct igc_source *source, struct ig_error *error) {
    struct ig_text text = {0};
    ig_text_printf(&text, "%s: %s", command->output, command->source_path);
    for (size_t i = 0; i < source->dependency_count; i++) {
        ig_text_puts(&text, " \\\n  ");
        for (const char *c = source->dependencies[i].path; *c; c++) {
            ig_text_append(&text, "\\", *c == ' ' || *c == '#');
            ig_text_append(&text, c, 1);
        }
    }
    ig_text_puts(&text, "\n");
    ingot_status status =
        text.failed ? ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for %s", command->depfile)
                    : ig_file_write(command->depfile, text.data, text.size, error);
    ig_text_free(&text);
    return status;
}

/* Clang's opinion of the source, without code: of every kernel if there are not too many. */
static ingot_status check_syntax(struct igc_source *source, const struct igc_command *command,
                                 struct igc_batch_result *result, struct ig_error *error) {
    struct igc_compiled compiled = {.warnings = ""};
    const size_t count = source->plain_count;
    const bool all = count <= CHECKED_KERNELS;
    struct igc_options options = command->front;
    options.keeps_modules = command->jit && all && !source->air; /* add_neighbours asks for it */
    double start = igc_time_now();
    ingot_status status = igc_source_compile(source, &options, source->plain_kernels,
                                             all ? count : 1, &compiled, error);
    result->warnings = compiled.warnings ? compiled.warnings : "";
    igc_time_add("clang", igc_time_now() - start);
    return status;
}

static ingot_status emit_text(struct ig_arena *arena, struct igc_source *source,
                              const struct igc_command *command, const char *const *kernels,
                              size_t kernel_count, struct ig_error *error) {
    struct ig_text text = {0};
    ingot_status status = INGOT_OK;
    if (command->emit == IGC_EMIT_CPP) {
        const char *cpp;
        size_t size;
        status = igc_source_rewrite(source, kernels, kernel_count, &cpp, &size, error);
        if (!status) {
            ig_text_append(&text, cpp, size);
        }
    } else {
        struct igc_batch_result result = {0};
        struct igc_batch batch = {.source = source,
                                  .command = command,
                                  .kernels = kernels,
                                  .count = kernel_count,
                                  .emitted = &text};
        status = igc_compile_all(arena, &batch, &result, error);
    }
    ingot_status written =
        write_output(command, ig_text_string(&text), text.size, status ? NULL : error);
    ig_text_free(&text);
    return status ? status : written;
}

/* Who asks a large source for one kernel soon asks for the next ones, and clang takes about as long
 * for a few as for one: it has to read all of the source. */
static void add_neighbours(struct igc_batch *batch) {
    const struct igc_source *source = batch->source;
    const size_t all = source->plain_count;
    size_t i = 0;
    while (i < all && strcmp(source->plain_kernels[i], batch->kernels[0])) {
        i++;
    }
    if (i == all) {
        return;
    }
    /* of few, all: so check_syntax had them, and what clang made was kept */
    const size_t together = all <= CHECKED_KERNELS ? all : NEIGHBOURS, first = i - i % together;
    batch->neighbours = source->plain_kernels + first;
    batch->neighbour_count = all - first < together ? all - first : together;
}

static ingot_status compile_kernels(struct ig_arena *arena, struct igc_source *source,
                                    const struct igc_command *command, const char *const *kernels,
                                    size_t count, struct igc_batch_result *result,
                                    struct ig_error *error) {
    if (count == 1 || command->describe_only || (command->others->count && count <= FEW_KERNELS)) {
        struct igc_batch batch = {
            .source = source, .command = command, .kernels = kernels, .count = count};
        if (command->front.keeps_modules) {
            add_neighbours(&batch);
        }
        return igc_compile_all(arena, &batch, result, error);
    }
    return (count <= FEW_KERNELS ? igc_compile_few : igc_compile_many)(
        arena, source, command, kernels, count, result, error);
}

/* Leaves the command those of its targets whose bits are set. */
static ingot_status pick_targets(struct ig_arena *arena, struct igc_command *command, uint32_t bits,
                                 struct ig_error *error) {
    const struct igc_target **picked = ig_arena_array(arena, command->target_count, sizeof *picked);
    if (!picked) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the variants");
    }
    size_t count = 0;
    for (size_t i = 0; i < command->target_count; i++) {
        if (bits & 1u << i) {
            picked[count++] = command->targets[i];
        }
    }
    command->targets = picked;
    command->target_count = count;
    return INGOT_OK;
}

/* The groups of --variants one after the other, all into one result. */
static ingot_status compile_variants(struct ig_arena *arena, struct igc_source *source,
                                     const struct igc_command *command,
                                     struct igc_batch_result *result, struct ig_error *error) {
    struct igc_variant_group *groups;
    size_t count, total = 0;
    ingot_status status = igc_variants_read(arena, command, source, &groups, &count, error);
    for (size_t i = 0; i < count && !status; i++) {
        total += groups[i].kernel_count;
    }
    result->variants = status ? NULL : ig_arena_array(arena, total + 1, sizeof *result->variants);
    for (size_t i = 0; i < count && !status; i++) {
        struct igc_command group = *command;
        struct igc_batch_result part = {.warnings = ""};
        group.kernels = groups[i].kernels;
        group.kernel_count = groups[i].kernel_count;
        group.values = groups[i].values;
        group.value_count = groups[i].value_count;
        group.constants_key = groups[i].constants_key;
        if (!group.kernel_count) {
            continue;
        }
        status = pick_targets(arena, &group, groups[i].targets, error);
        if (!status) {
            status = check_names(&group, source, error);
        }
        if (!status) {
            status = compile_kernels(arena, source, &group, group.kernels, group.kernel_count,
                                     &part, error);
        }
        if (!status && result->variants) {
            memcpy(result->variants + result->variant_count, part.variants,
                   part.variant_count * sizeof *part.variants);
            result->variant_count += part.variant_count;
            result->warnings = *part.warnings ? part.warnings : result->warnings;
        }
    }
    return status;
}

static ingot_status write_air_library(struct igc_source *source, const struct igc_command *command,
                                      struct ig_error *error) {
    const void *bytes;
    size_t size;
    ingot_status status = igc_air_make_library(source, &command->front, &bytes, &size, error);
    return status ? status : write_output(command, bytes, size, error);
}

/* Code without the values of constants would only be thrown away. */
static bool needs_constants(const struct igc_source *source) {
    for (size_t i = 0; i < source->constant_count; i++) {
        if (source->constants[i].required) {
            return true;
        }
    }
    return false;
}

ingot_status igc_run(struct ig_arena *arena, struct igc_command *command, const char **warnings,
                     struct ig_error *error) {
    struct igc_source source = {0};
    struct igc_batch_result result = {.warnings = ""};
    command->front.members = command->emit == IGC_EMIT_MEMBERS;
    ingot_status status = open_source(arena, command, &source, error);
    if (!status) {
        status = check_names(command, &source, error);
    }
    if (status) {
        return status;
    }
    if (command->air_library) {
        return write_air_library(&source, command, error);
    }
    const bool named = command->kernel_count > 0;
    /* what cannot be compiled here is only an error when it is asked for */
    const char *const *all = command->jit ? source.plain_kernels : source.kernels;
    const char *const *kernels = named ? command->kernels : all;
    size_t count = named          ? command->kernel_count
                   : command->jit ? source.plain_count
                                  : source.kernel_count;
    command->describe_only |= command->emit == IGC_EMIT_MEMBERS;
    if (command->emit != IGC_EMIT_ARCHIVE) {
        return emit_text(arena, &source, command, kernels, count, error);
    }
    /* a library's variant: others, with other constants, are likely to follow */
    command->front.keeps_modules = command->preprocessed && named && count == 1 && !source.air;
    bool list_only =
        command->list_only ||
        (command->jit && (count > JIT_KERNELS || (!named && needs_constants(&source))));
    if (command->variants_path) {
        status = compile_variants(arena, &source, command, &result, error);
    } else if (list_only || !count) {
        status = check_syntax(&source, command, &result, error);
    } else {
        status = compile_kernels(arena, &source, command, kernels, count, &result, error);
    }
    *warnings = result.warnings;
    /* some kernels may be fine where others are not: their code is kept, or the list of them */
    bool listed = status == INGOT_COMPILE_ERROR && command->list_only && count > 1 &&
                  is_good_without_kernels(&source, &command->front);
    if (!status || result.variant_count || listed) {
        ingot_status written =
            write_archive(arena, command, &source, &result, status ? NULL : error);
        status = status ? status : written;
    }
    if (!status && command->depfile) {
        status = write_depfile(command, &source, error);
    }
    return status;
}
