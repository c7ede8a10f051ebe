/* `ingot check`: compiles every kernel and shows the diagnostics. */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/json.h"
#include "cli/check.h"

struct check {
    struct cli_compile_request request;
    struct ig_json json;
    bool as_json, quiet;
    size_t passed, failed, warnings;
    struct ig_arena arena;
    struct check_report report;
    struct ig_text seen; /* diagnostics already shown, each ended by a 0 byte */
};

/* One kernel after the other fails with the same error of shared code: show it once. */
static bool seen_before(struct check *check, const char *text) {
    size_t length = strlen(text) + 1;
    for (size_t at = 0; at < check->seen.size; at += strlen(check->seen.data + at) + 1) {
        if (!strcmp(check->seen.data + at, text)) {
            return true;
        }
    }
    ig_text_append(&check->seen, text, length);
    return false;
}

static void write_diagnostics(struct check *check, const char *text) {
    struct ig_json *json = &check->json;
    check_report_diagnostics(&check->report, &check->arena, text);
    ig_json_array(json, "diagnostics");
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct check_diagnostic found;
        if (check_split_diagnostic(text, length, &found)) {
            struct ig_text part = {0};
            ig_json_object(json, NULL);
            ig_text_append(&part, found.file, found.file_length);
            ig_json_string(json, "file", ig_text_string(&part));
            ig_text_free(&part);
            ig_json_u64(json, "line", found.line);
            ig_json_u64(json, "column", found.column);
            ig_json_string(json, "severity", found.severity);
            ig_text_append(&part, found.message, found.message_length);
            ig_json_string(json, "message", ig_text_string(&part));
            ig_text_free(&part);
            ig_json_object_end(json);
        }
        text += length;
        if (*text) {
            text++;
        }
    }
    ig_json_array_end(json);
}

static void report_kernel(struct check *check, const struct cli_kernel_result *result) {
    if (result->status) {
        check->failed++;
    } else {
        check->passed++;
    }
    if (check->as_json) {
        ig_json_object(&check->json, NULL);
        ig_json_string(&check->json, "name", result->kernel);
        ig_json_bool(&check->json, "ok", result->status == INGOT_OK);
        ig_json_string(&check->json, "status", ingot_status_name(result->status));
        ig_json_double(&check->json, "seconds", result->seconds);
        if (result->status) {
            ig_json_string(&check->json, "message", result->message);
        }
        write_diagnostics(check, result->message);
        ig_json_object_end(&check->json);
        return;
    }
    check_report_diagnostics(&check->report, &check->arena, result->message);
    if (result->status && result->status != INGOT_COMPILE_ERROR) {
        cli_error("%s: kernel %s: %s", check->request.path, result->kernel, result->message);
    } else if (*result->message && !seen_before(check, result->message)) {
        cli_diagnostics(result->message);
    }
    if (result->status) {
        printf("%s%s: kernel %s: failed%s\n", cli_red(stdout), check->request.path, result->kernel,
               cli_plain(stdout));
    } else if (!check->quiet) {
        printf("%s%s: kernel %s: ok%s %s(%.0f ms)%s\n", cli_green(stdout), check->request.path,
               result->kernel, cli_plain(stdout), cli_dim(stdout), result->seconds * 1e3,
               cli_plain(stdout));
    }
}

static bool has_code(const struct ig_archive *archive, const char *kernel, const char *target) {
    for (uint32_t i = 0; i < archive->variant_count; i++) {
        if (!strcmp(archive->variants[i].kernel, kernel) &&
            (target ? ig_variant_code(&archive->variants[i], target) != NULL
                    : archive->variants[i].code_count > 0)) {
            return true;
        }
    }
    return false;
}

/* A kernel of an archive must have code: for each target asked for, or for any. One that waits
 * for values of its constants has its source. */
static void judge_compiled(const struct cli_compile_request *request,
                           const struct ig_archive *archive, struct ig_arena *arena,
                           struct cli_kernel_result *result) {
    const struct cli_list *targets = request->targets;
    result->message = "";
    for (size_t i = 0; i < targets->count; i++) {
        if (!has_code(archive, result->kernel, targets->items[i])) {
            result->status = INGOT_UNSUPPORTED;
            result->message =
                ig_arena_printf(arena, "the archive has no code for %s", targets->items[i]);
            return;
        }
    }
    if (!targets->count && !*archive->source && !has_code(archive, result->kernel, NULL)) {
        result->status = INGOT_UNSUPPORTED;
        result->message = "the archive has neither code nor source";
    }
}

/* Reads an archive, which finds all damage, and looks what it holds. */
static ingot_status look_into(const struct cli_compile_request *request,
                              struct cli_compilation *out, struct ig_error *error) {
    struct ig_arena *arena = &out->arena;
    const struct ig_archive *archive;
    ingot_status status = cli_read_archive(out, request->path, &archive, error);
    if (status) {
        return status;
    }
    out->results = ig_arena_array(arena, archive->kernel_count + 1, sizeof *out->results);
    if (!out->results) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    for (uint32_t k = 0; k < archive->kernel_count; k++) {
        bool wanted = request->kernels->count == 0;
        for (size_t i = 0; i < request->kernels->count; i++) {
            if (!strcmp(request->kernels->items[i], archive->kernels[k])) {
                wanted = request->found[i] = true;
            }
        }
        if (!wanted || !cli_in_shard(request->shard, (*request->kernels_seen)++)) {
            continue;
        }
        struct cli_kernel_result *result = &out->results[out->result_count++];
        result->kernel = archive->kernels[k];
        judge_compiled(request, archive, arena, result);
    }
    return INGOT_OK;
}

static void check_file(struct check *check) {
    struct cli_compilation compilation = {0};
    struct ig_error error = {0};
    ingot_status status = cli_is_archive(check->request.path)
                              ? look_into(&check->request, &compilation, &error)
                              : cli_compile(&check->request, &compilation, &error);
    /* A file that fails as a whole counts as one kernel, in one shard. */
    if (status && !cli_in_shard(check->request.shard, (*check->request.kernels_seen)++)) {
        cli_compilation_free(&compilation);
        ig_error_clear(&error);
        return;
    }
    if (check->as_json) {
        ig_json_object(&check->json, NULL);
        ig_json_string(&check->json, "file", check->request.path);
        ig_json_string(&check->json, "status", ingot_status_name(status));
        if (status) {
            ig_json_string(&check->json, "message", ig_error_text(&error));
        }
        write_diagnostics(check, status ? ig_error_text(&error) : "");
        ig_json_array(&check->json, "kernels");
    } else if (status == INGOT_COMPILE_ERROR) {
        check_report_diagnostics(&check->report, &check->arena, ig_error_text(&error));
        cli_diagnostics(ig_error_text(&error));
    } else if (status) {
        cli_error("%s", ig_error_text(&error));
    }
    if (status) {
        check->failed++;
    } else {
        for (size_t i = 0; i < compilation.result_count; i++) {
            report_kernel(check, &compilation.results[i]);
        }
    }
    if (!status && !compilation.result_count && !check->request.kernels->count && !check->as_json) {
        printf("%s: no compute kernels\n", check->request.path);
    }
    if (check->as_json) {
        ig_json_array_end(&check->json);
        ig_json_object_end(&check->json);
    }
    cli_compilation_free(&compilation);
    ig_error_clear(&error);
}

static int check_all(struct check *check, const struct check_sources *sources) {
    struct ig_text text = {0};
    check->json.out = &text;
    ig_json_object(&check->json, NULL);
    ig_json_array(&check->json, "files");
    for (size_t i = 0; i < sources->count; i++) {
        cli_progress_part(i + 1, sources->count);
        check->request.path = sources->items[i].path;
        check->request.text = sources->items[i].text;
        check->request.options = &sources->items[i].options;
        check_file(check);
    }
    ig_json_array_end(&check->json);
    check->failed += cli_report_missing(&check->request);
    ig_json_u64(&check->json, "passed", check->passed);
    ig_json_u64(&check->json, "failed", check->failed);
    ig_json_object_end(&check->json);
    if (check->as_json) {
        printf("%s\n", ig_text_string(&text));
    } else {
        check_hint_at_macros(&check->report);
        printf("%zu passed, %zu failed\n", check->passed, check->failed);
    }
    ig_text_free(&text);
    bool written = check_write_reports(&check->report, &check->arena);
    return check->failed || !written ? CLI_FAILED : CLI_OK;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct check check = {0};
    struct cli_source_options source = {0};
    struct cli_list kernels = {0}, constants = {0}, targets = {0}, files = {0};
    const char *project = NULL;
    struct check_sources sources = {0};
    bool no_code = false;
    struct cli_shard shard = {0};
    size_t kernels_seen = 0;
    const struct cli_option options[] = {
        {"kernel", 'k', CLI_LIST, "NAME", "only this kernel; may be repeated", &kernels},
        {"json", 0, CLI_FLAG, NULL, "print JSON; keys are only ever added", &check.as_json},
        {"quiet", 'q', CLI_FLAG, NULL, "do not name the kernels that passed", &check.quiet},
        {"target", 0, CLI_LIST, "LEVEL",
         "x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-bf16-amx, aarch64, aarch64-bf16, sm_80, "
         "sm_90 or "
         "sm_90a "
         "(this machine's); "
         "may "
         "be repeated",
         &targets},
        {"no-code", 0, CLI_FLAG, NULL,
         "stop before machine code: all that can be wrong with the source, in a third of the time",
         &no_code},
        {"const", 0, CLI_LIST, "NAME_OR_INDEX=VALUE", "a function constant's value", &constants},
        {"shard", 0, CLI_SHARD, "I/N", "only every Nth kernel of all files, from the Ith on",
         &shard},
        {"project", 0, CLI_STRING, "FILE", "defines and prepended text by file (ingot.toml)",
         &project},
        {"sarif", 0, CLI_STRING, "FILE", "write diagnostics for code hosts", &check.report.sarif},
        {"code-quality", 0, CLI_STRING, "FILE", "write them as GitLab's code quality report",
         &check.report.code_quality},
        {"annotations", 0, CLI_FLAG, NULL, "print them as GitHub's annotations too",
         &check.report.annotations},
        CLI_SOURCE_OPTIONS(source),
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &files, &status)) {
        check.request = (struct cli_compile_request){.options = &source,
                                                     .files = &files,
                                                     .kernels = &kernels,
                                                     .targets = &targets,
                                                     .constants = &constants,
                                                     .assume_constants = true,
                                                     .check = true,
                                                     .shard = &shard,
                                                     .kernels_seen = &kernels_seen,
                                                     .no_code = no_code};
        check.request.found = calloc(kernels.count + 1, sizeof(bool));
        if (!files.count) {
            status = cli_usage_error(command, "expected at least one FILE, folder or -");
        } else if (check.request.found) {
            status = check_find_sources(&check.arena, &files, project, &source, &sources)
                         ? check_all(&check, &sources)
                         : CLI_FAILED;
        } else {
            cli_error("out of memory");
            status = CLI_FAILED;
        }
        free(check.request.found);
    }
    ig_text_free(&check.seen);
    check_sources_free(&sources);
    cli_list_free(&check.report.lines);
    ig_arena_free(&check.arena);
    cli_list_free(&files);
    cli_list_free(&kernels);
    cli_list_free(&constants);
    cli_list_free(&targets);
    cli_source_options_free(&source);
    return status;
}

const struct cli_command cli_check = {
    .name = "check",
    .summary = "compile every kernel and show what is wrong",
    .usage = "FILE... [--kernel NAME]... [--json]",
    .help =
        "Compiles every kernel of each FILE, and shows diagnostics as file:line:column with a\n"
        "caret. Exits with 1 if any kernel fails. Function constants that get no value by\n"
        "--const are taken as 1 (true). Nothing is kept. An archive is read, and each kernel must\n"
        "have code: for every --target, or for any. Of a folder, its .metal files are taken; - is\n"
        "standard input. ingot.toml says which files get defines or prepended text.",
    .examples = "  ingot check kernels/*.metal\n"
                "  ingot check big.metal --kernel softmax_f16 -I include",
    .run = run,
};
