/* `ingot merge`: reports of several machines that shared the work (--shard) become one. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/merge.h"

static bool is_xml(const char *text, size_t size) {
    size_t at = 0;
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* a byte order mark */
        at = 3;
    }
    while (at < size && memchr(" \t\r\n", text[at], 4)) {
        at++;
    }
    return at < size && text[at] == '<';
}

/* All are of the first one's format. */
static ingot_status read_reports(struct ig_arena *arena, const struct cli_list *paths,
                                 struct merge_report *reports, bool *xml, struct ig_error *error) {
    for (size_t i = 0; i < paths->count; i++) {
        char *bytes = NULL;
        ingot_status status = ig_file_read(paths->items[i], 0, &bytes, &reports[i].size, error);
        if (status) {
            return status;
        }
        reports[i].path = paths->items[i];
        reports[i].text = ig_arena_copy(arena, bytes, reports[i].size);
        free(bytes);
        if (!reports[i].text) {
            return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
        }
        bool this_xml = is_xml(reports[i].text, reports[i].size);
        if (i && this_xml != *xml) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "%s is %s, and %s is %s: reports of one "
                           "format are merged",
                           paths->items[0], *xml ? "XML" : "JSON", paths->items[i],
                           this_xml ? "XML" : "JSON");
        }
        *xml = this_xml;
    }
    return INGOT_OK;
}

static ingot_status write_result(const char *path, const struct ig_text *text,
                                 struct ig_error *error) {
    if (text->failed) {
        return ig_fail(error, INGOT_OUT_OF_MEMORY, "out of memory");
    }
    if (path) {
        return ig_file_write(path, text->data, text->size, error);
    }
    fwrite(text->data, 1, text->size, stdout);
    return INGOT_OK;
}

static int merge(const struct cli_list *paths, const char *output) {
    struct ig_arena arena = {0};
    struct ig_error error = {0};
    struct ig_text text = {0};
    struct merge_counts counts = {0};
    bool xml = false;
    struct merge_report *reports = ig_arena_array(&arena, paths->count, sizeof *reports);
    ingot_status status = reports ? read_reports(&arena, paths, reports, &xml, &error)
                                  : ig_fail(&error, INGOT_OUT_OF_MEMORY, "out of memory");
    if (!status) {
        status =
            (xml ? merge_junit : merge_json)(&arena, reports, paths->count, &text, &counts, &error);
    }
    if (!status) {
        status = write_result(output, &text, &error);
    }
    if (status) {
        cli_error("%s", ig_error_text(&error));
    } else if (output) {
        printf("%s: %llu %s, %llu failed, of %zu reports\n", output,
               (unsigned long long)(counts.rows ? counts.rows : counts.passed),
               counts.rows ? "measured" : "passed", (unsigned long long)counts.failed,
               paths->count);
    }
    ig_text_free(&text);
    ig_error_clear(&error);
    ig_arena_free(&arena);
    return status || counts.failed ? CLI_FAILED : CLI_OK;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct cli_list paths = {0};
    const char *output = NULL;
    const struct cli_option options[] = {
        {"output", 'o', CLI_STRING, "FILE", "write to FILE (standard output)", &output},
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &paths, &status)) {
        status = paths.count ? merge(&paths, output)
                             : cli_usage_error(command, "expected at least one REPORT");
    }
    cli_list_free(&paths);
    return status;
}

const struct cli_command cli_merge = {
    .name = "merge",
    .summary = "make one report of those of several machines",
    .usage = "REPORT... [-o FILE]",
    .help =
        "Merges reports of commands that shared their work by --shard: the JSON of health, bench\n"
        "and check, or JUnit XML of any program. Counts are added up, cases and rows come one\n"
        "behind the other. Exits with 1 if anything failed in any report.",
    .examples =
        "  ingot health --shard 1/2 --json >1.json; ingot health --shard 2/2 --json >2.json\n"
        "  ingot merge 1.json 2.json -o health.json\n"
        "  ingot merge shard-*.xml -o tests.xml",
    .run = run,
};
