/* `ingot tune`: looks for better launch policies on this machine and writes them to a file. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scalar.h"
#include "cli/tune.h"

struct tune {
    struct tool_selection selection;
    struct tool_place place;
    struct tool_device device;
    struct tool_rows rows;
    struct tune_search search;
    struct tune_point *points;
    size_t point_count, failed;
    const char *output;
    bool dry_run, verbose;
    double gain; /* percent */
};

/* ---- the policy file ---- */

static bool same_words(const char *line, const char *device, const char *subject) {
    char first[64], second[160];
    return sscanf(line, "%63s %159s", first, second) == 2 && !strcmp(first, device) &&
           !strcmp(second, subject);
}

void tune_merge(const char *old, const ingot_device_info *device, const struct tune_point *points,
                size_t count, struct ig_text *out) {
    char place[128];
    snprintf(place, sizeof place, "%.*s:%s", (int)strcspn(device->name, ":"), device->name,
             device->target);
    if (!old || !*old) {
        ig_text_puts(out, "# Launch policy. `ingot tune` writes rules; later ones win.\n");
    }
    for (const char *line = old ? old : ""; *line;) {
        size_t length = strcspn(line, "\n");
        bool replaced = false;
        for (size_t i = 0; i < count; i++) {
            replaced |= points[i].improved && same_words(line, place, points[i].subject);
        }
        if (!replaced) {
            ig_text_append(out, line, length);
            ig_text_puts(out, "\n");
        }
        line += length + (line[length] == '\n');
    }
    for (size_t i = 0; i < count; i++) {
        if (!points[i].improved) {
            continue;
        }
        ig_text_printf(out, "%s %s ", place, points[i].subject);
        tune_knobs(&points[i], points[i].after, out);
        ig_text_puts(out, "\n");
    }
}

static bool make_parent(const char *path, struct ig_error *error) {
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) {
        return true;
    }
    char *folder = strndup(path, (size_t)(slash - path));
    if (!folder) {
        ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for a path");
        return false;
    }
    bool made = !ig_folder_make(folder, error);
    free(folder);
    return made;
}

/* The merged policy must be one that the library takes. */
static bool accepted(const struct tune *tune, const char *text, struct ig_error *error) {
    const ingot_ops_desc desc = {.policy_path = "", .policy_text = text};
    ingot_ops *ops = NULL;
    ingot_status status = ingot_ops_create(tune->device.device, &desc, &ops);
    if (status) {
        ig_fail(error, status, "%s", ingot_error_message());
    }
    ingot_ops_release(ops);
    return !status;
}

static bool write_policy(const struct tune *tune, const char *path) {
    struct ig_error error = {0};
    struct ig_text text = {0};
    char *old = NULL;
    size_t size = 0;
    bool exists = access(path, F_OK) == 0;
    if (!exists || !ig_file_read(path, 4 << 20, &old, &size, &error)) {
        tune_merge(old, &tune->device.info, tune->points, tune->point_count, &text);
        if (text.failed) {
            ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for the policy");
        } else if (accepted(tune, ig_text_string(&text), &error) && make_parent(path, &error)) {
            ig_file_write(path, text.data, text.size, &error);
        }
    }
    free(old);
    ig_text_free(&text);
    if (error.status) {
        cli_error("%s: %s", path, ig_error_text(&error));
    }
    bool fine = !error.status;
    ig_error_clear(&error);
    return fine;
}

/* ---- the run ---- */

static bool collect_points(struct tune *tune) {
    tune->points = calloc(tune->rows.count + 1, sizeof *tune->points);
    if (!tune->points) {
        cli_error("out of memory");
        return false;
    }
    for (size_t i = 0; i < tune->rows.count; i++) {
        char why[256], name[160];
        struct tune_point *point = &tune->points[tune->point_count];
        const struct tool_row *row = &tune->rows.items[i];
        if (!tune_point_open(&tune->search, row, point, why)) {
            if (tune->verbose) {
                printf("%s: left out: %s\n", tool_row_name(row, name), why);
            }
            continue;
        }
        size_t k = 0;
        while (k < tune->point_count && strcmp(tune->points[k].subject, point->subject)) {
            k++;
        }
        if (k == tune->point_count) {
            tune->point_count++;
        } else if (tune->points[k].row_count < TUNE_MAX_ROWS) {
            tune->points[k].rows[tune->points[k].row_count++] = *row;
        }
    }
    return true;
}

static void print_point(const struct tune *tune, const struct tune_point *point) {
    struct ig_text knobs = {0};
    char before[32], after[32];
    tune_knobs(point, point->after, &knobs);
    printf("%-60s ", point->subject);
    tool_print(stdout, -9, tool_seconds(point->seconds_before, before));
    if (point->improved) {
        printf(" -> ");
        tool_print(stdout, -9, tool_seconds(point->seconds_after, after));
        printf("  %s%.2fx%s", cli_green(stdout), point->seconds_before / point->seconds_after,
               cli_plain(stdout));
    } else {
        printf("    %9s", "as it is");
    }
    printf("\n  %s%s  (%zu tried, %zu refused, %zu wrong)%s\n", cli_dim(stdout),
           ig_text_string(&knobs), point->tried, point->refused, point->wrong, cli_plain(stdout));
    if (*point->first_wrong) {
        printf("  wrong: %s\n", point->first_wrong);
    }
    if (*point->first_refusal && tune->verbose) {
        printf("  refused: %s\n", point->first_refusal);
    }
    ig_text_free(&knobs);
    fflush(stdout);
}

static int report(const struct tune *tune) {
    size_t improved = 0;
    double logs = 0;
    for (size_t i = 0; i < tune->point_count; i++) {
        if (tune->points[i].improved) {
            improved++;
            logs += log(tune->points[i].seconds_before / tune->points[i].seconds_after);
        }
    }
    printf("\n%zu of %zu classes are faster", improved, tune->point_count);
    if (improved) {
        printf(", by %.2fx on average", exp(logs / (double)improved));
    }
    printf("\n");
    if (!improved || tune->dry_run) {
        return tune->failed ? CLI_FAILED : CLI_OK;
    }
    char *usual = tune->output ? NULL : ig_policy_path();
    const char *path = tune->output ? tune->output : usual;
    bool written = path && write_policy(tune, path);
    if (!path) {
        cli_error("there is no place for the policy: HOME is not set; name a file with --output");
    }
    if (written) {
        printf("policy: %s\n", path);
    }
    free(usual);
    return written && !tune->failed ? CLI_OK : CLI_FAILED;
}

static int execute(const struct cli_command *command, struct tune *tune) {
    if (!(tune->search.seconds > 0) || tune->search.seconds > 60) {
        return cli_usage_error(command, "--time %g: expected seconds, more than 0 and at most 60",
                               tune->search.seconds);
    }
    tune->search.least_gain = tune->gain / 100;
    int status = tool_select(command, &tune->selection, IGH_TUNE, 0, &tune->rows);
    if (status) {
        return status;
    }
    if (!tune->rows.count) {
        cli_error("no case that is tuned fits the selection");
        return CLI_FAILED;
    }
    if (!tool_open(&tune->device, &tune->place, NULL, NULL)) {
        return CLI_FAILED;
    }
    tune->search.device = &tune->device;
    if (!collect_points(tune)) {
        return CLI_FAILED;
    }
    for (size_t i = 0; i < tune->point_count; i++) {
        cli_progress(i, tune->point_count, tune->points[i].subject);
        tune->failed += !tune_point_search(&tune->search, &tune->points[i]);
        cli_progress_end();
        print_point(tune, &tune->points[i]);
    }
    return report(tune);
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct tune tune = {.search = {.seconds = 0.05}, .gain = 3};
    const struct cli_option options[] = {
        TOOL_SELECTION_OPTIONS(tune.selection),
        TOOL_PLACE_OPTIONS(tune.place),
        {"output", 'o', CLI_STRING, "FILE", "the policy to add to (the user's own)", &tune.output},
        {"dry-run", 'n', CLI_FLAG, NULL, "write nothing", &tune.dry_run},
        {"time", 't', CLI_NUMBER, "SECONDS", "how long a candidate is measured (0.05)",
         &tune.search.seconds},
        {"gain", 0, CLI_NUMBER, "PERCENT", "what is worth a rule (3)", &tune.gain},
        {"check-all", 0, CLI_FLAG, NULL, "check slow candidates too, not only those that may win",
         &tune.search.check_all},
        {"verbose", 'v', CLI_FLAG, NULL, "also say what is refused and left out", &tune.verbose},
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &tune.selection.operations, &status)) {
        status = execute(command, &tune);
    }
    free(tune.points);
    tool_close(&tune.device);
    tool_rows_free(&tune.rows);
    tool_selection_free(&tune.selection);
    return status;
}

const struct cli_command cli_tune = {
    .name = "tune",
    .summary = "find better launch policies for this machine",
    .usage = "[OPERATION]... [OPTION]...",
    .help = "Sweeps the knobs of the operations (all, or those named) on the cases that are marked "
            "for\n"
            "it. A candidate must pass the checks of policy and launch, give the right result, and "
            "then beat\n"
            "the present knobs, measured alternately. Rules for what is faster go to the policy "
            "file,\n"
            "which keeps its other lines.",
    .examples = "  ingot tune rms_norm --type f32 --dry-run\n"
                "  ingot tune -o this-machine.policy; INGOT_POLICY=this-machine.policy ingot bench",
    .run = run,
};
