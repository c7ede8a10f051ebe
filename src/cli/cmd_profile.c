/*
 * `ingot profile`: where the time of a kernel or of a program goes.
 *
 * The program runs twice, with what libingot writes in a private folder: once as it is, for times,
 * and once with counters in its kernels, where it uses CPU devices. A kernel of a file is run by
 * `ingot run`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/profile.h"

struct profiling {
    struct profile_report report;
    const char *html;
    bool json, no_ceilings, all, only_times, only_counters;
    uint32_t repeat;
    bool is_program;        /* otherwise FILE KERNEL … */
    const char **arguments; /* of the program, NULL at the end */
    const char **timing;    /* of them, those that are for times only; NULL: none */
    char *folder;
    int status; /* of the program */
};

static bool can_be_counted(const struct ig_profile *profile) {
    for (size_t i = 0; i < profile->kernel_count; i++) {
        if (profile->kernels[i].can_be_counted) {
            return true;
        }
    }
    return false;
}

static bool run_both(struct profiling *profiling) {
    struct profile_report *report = &profiling->report;
    struct profile_run run = {.arguments = profiling->arguments,
                              .folder = profiling->folder,
                              .is_quiet = !profiling->is_program,
                              .is_own = !profiling->is_program,
                              .to_stderr = profiling->json};
    if (!profiling->only_counters) {
        cli_progress(0, 2, "a run for times");
        cli_progress_end();
        if (!profile_run(&run, &report->times, &profiling->status)) {
            return false;
        }
    }
    bool failed = profiling->status != CLI_OK;
    report->is_times = profiling->only_times;
    report->has_failed = failed;
    if (!profiling->only_times && !failed &&
        (profiling->only_counters || can_be_counted(&report->times))) {
        cli_progress(1, 2, "a run with counters");
        cli_progress_end();
        if (profiling->timing) {
            *profiling->timing = NULL;
        }
        run.counts = true;
        run.is_quiet |= !profiling->only_counters;
        if (!profile_run(&run, &report->counters, &profiling->status)) {
            return false;
        }
    }
    if (!report->times.kernel_count && !report->counters.kernel_count) {
        if (!failed) {
            cli_error("%s ran no kernel by libingot, or ended without returning from main",
                      profiling->arguments[0]);
        }
        return false;
    }
    return true;
}

/* ---- the report ---- */

double profile_steps(const uint64_t counts[IG_COUNTER_COUNT]) {
    return (double)(counts[IG_COUNTER_executed] + counts[IG_COUNTER_device_lines] +
                    counts[IG_COUNTER_bank_passes] + counts[IG_COUNTER_atomic_collisions] +
                    counts[IG_COUNTER_private_accesses]);
}

double profile_kernel_steps(const struct profile_kernel *kernel) {
    double sum = 0;
    for (size_t i = 0; kernel->counted && i < kernel->counted->line_count; i++) {
        sum += profile_steps(kernel->counted->lines[i].counts);
    }
    return sum;
}

static const struct igh_ceilings *ceilings_of(struct profiling *profiling, const char *name) {
    struct profile_report *report = &profiling->report;
    for (size_t i = 0; i < report->device_count; i++) {
        if (!strcmp(report->devices[i].name, name)) {
            return &report->devices[i].ceilings;
        }
    }
    if (profiling->no_ceilings || report->device_count == PROFILE_MOST_DEVICES) {
        return NULL;
    }
    struct tool_device device;
    const struct tool_place place = {0};
    struct ig_error error = {0};
    const struct igh_ceilings *result = NULL;
    cli_progress(0, 1, "the machine's ceilings");
    if (tool_open(&device, &place, name, NULL)) {
        size_t at = report->device_count;
        if (!igh_ceilings_measure(&device.options, &report->devices[at].ceilings, &error)) {
            report->devices[at].name = name;
            report->device_count++;
            result = &report->devices[at].ceilings;
        } else {
            cli_warning("%s", ig_error_text(&error));
            ig_error_clear(&error);
        }
    }
    cli_progress_end();
    tool_close(&device);
    return result;
}

/* The lanes that are active where the most are: at the kernel's start. */
static double first_lanes(const struct ig_profile_kernel *counted) {
    double lanes = 0;
    for (size_t i = 0; i < counted->line_count; i++) {
        const uint64_t *counts = counted->lines[i].counts;
        double own = counts[IG_COUNTER_executed]
                         ? (double)counts[IG_COUNTER_lanes] / (double)counts[IG_COUNTER_executed]
                         : 0;
        lanes = own > lanes ? own : lanes;
    }
    return lanes;
}

static void add_counters(struct profile_kernel *kernel) {
    const struct ig_profile_kernel *counted = kernel->counted;
    double launches = (double)counted->counted;
    for (size_t i = 0; i < counted->line_count; i++) {
        kernel->flops += (double)counted->lines[i].counts[IG_COUNTER_flops] / launches;
        kernel->asked += (double)counted->lines[i].counts[IG_COUNTER_device_bytes] / launches;
    }
    kernel->bytes = (double)(counted->bytes_read + counted->bytes_written) / launches;
    kernel->lanes = first_lanes(counted);
}

static const struct ig_profile_kernel *same_kernel(const struct ig_profile *profile,
                                                   const struct ig_profile_kernel *kernel) {
    for (size_t i = 0; i < profile->kernel_count; i++) {
        const struct ig_profile_kernel *other = &profile->kernels[i];
        if (!strcmp(other->name, kernel->name) && !strcmp(other->source, kernel->source) &&
            !strcmp(other->constants, kernel->constants) &&
            !strcmp(other->device, kernel->device)) {
            return other;
        }
    }
    return NULL;
}

static void fill_kernel(struct profiling *profiling, struct profile_kernel *kernel) {
    const struct ig_profile_kernel *times = kernel->times;
    kernel->total = (double)times->total_ns * 1e-9;
    kernel->seconds = !times->launches        ? 0
                      : profiling->is_program ? kernel->total / (double)times->launches
                                              : (double)times->median_ns * 1e-9;
    if (kernel->counted && kernel->counted->counted) {
        add_counters(kernel);
    } else {
        kernel->counted = NULL;
    }
    if (kernel->is_slow || !kernel->counted) {
        return;
    }
    kernel->ceilings = ceilings_of(profiling, times->device);
    if (kernel->ceilings) {
        kernel->share = igh_ceiling_share(kernel->ceilings, kernel->bytes, kernel->flops,
                                          kernel->seconds, &kernel->by_bytes);
    }
}

static int by_total(const void *a, const void *b) {
    const struct profile_kernel *x = a, *y = b;
    return (x->total < y->total) - (x->total > y->total);
}

static bool make_report(struct profiling *profiling) {
    struct profile_report *report = &profiling->report;
    size_t most = report->times.kernel_count + report->counters.kernel_count;
    report->kernels = ig_arena_array(&report->arena, most, sizeof *report->kernels);
    if (!report->kernels) {
        cli_error("out of memory");
        return false;
    }
    for (size_t i = 0; i < report->times.kernel_count; i++) {
        const struct ig_profile_kernel *times = &report->times.kernels[i];
        report->kernels[report->kernel_count++] = (struct profile_kernel){
            .times = times, .counted = same_kernel(&report->counters, times)};
    }
    for (size_t i = 0; i < report->counters.kernel_count; i++) {
        const struct ig_profile_kernel *counted = &report->counters.kernels[i];
        if (!same_kernel(&report->times, counted)) {
            report->kernels[report->kernel_count++] =
                (struct profile_kernel){.times = counted, .counted = counted, .is_slow = true};
        }
    }
    bool good = true;
    for (size_t i = 0; i < report->kernel_count; i++) {
        fill_kernel(profiling, &report->kernels[i]);
        report->total += report->kernels[i].total;
        good = good && profile_find_hints(report, &report->kernels[i]);
    }
    if (report->kernel_count) {
        qsort(report->kernels, report->kernel_count, sizeof *report->kernels, by_total);
    }
    if (!good) {
        cli_error("out of memory");
    }
    return good;
}

static int write_report(struct profiling *profiling) {
    tool_date(profiling->report.date);
    if (profiling->json) {
        struct ig_text text = {0};
        profile_json(&profiling->report, &text);
        fputs(ig_text_string(&text), stdout);
        ig_text_free(&text);
    } else {
        profile_text(&profiling->report, profiling->all, stdout);
    }
    if (profiling->html) {
        struct ig_text page = {0};
        profile_html(&profiling->report, &page);
        bool written = cli_write_file(profiling->html, &page);
        ig_text_free(&page);
        return written ? profiling->status : CLI_FAILED;
    }
    return profiling->status;
}

/* ---- the command line ---- */

static bool set_arguments(struct profiling *profiling, const struct cli_list *rest) {
    struct ig_arena *arena = &profiling->report.arena;
    char repeat[32];
    struct ig_text words = {0};
    size_t count = 0;
    profiling->arguments = ig_arena_array(arena, rest->count + 8, sizeof *profiling->arguments);
    for (size_t i = 0; i < rest->count; i++) {
        ig_text_printf(&words, "%s%s", i ? " " : "", rest->items[i]);
    }
    profiling->report.command = ig_arena_string(arena, ig_text_string(&words));
    ig_text_free(&words);
    if (!profiling->arguments || !profiling->report.command) {
        cli_error("out of memory");
        return false;
    }
    if (!profiling->is_program) {
        snprintf(repeat, sizeof repeat, "%u", profiling->repeat);
        if (!(profiling->arguments[count++] = profile_self(arena))) {
            return false;
        }
        profiling->arguments[count++] = "run";
        profiling->arguments[count++] = "--quiet";
    }
    for (size_t i = 0; i < rest->count; i++) {
        profiling->arguments[count++] = rest->items[i];
    }
    if (!profiling->is_program) {
        profiling->timing = &profiling->arguments[count];
        profiling->arguments[count++] = "--time";
        profiling->arguments[count++] = "--repeat";
        profiling->arguments[count++] = ig_arena_string(arena, repeat);
    }
    return true;
}

static int execute(const struct cli_command *command, struct profiling *profiling,
                   const struct cli_list *rest) {
    struct ig_error error = {0};
    if (profiling->only_times && profiling->only_counters) {
        return cli_usage_error(command, "--times and --counters exclude each other");
    }
    if (rest->count < (profiling->is_program ? 1 : 2)) {
        return cli_usage_error(command, "expected FILE and KERNEL, or -- and a PROGRAM");
    }
    if (profiling->repeat == 0) {
        return cli_usage_error(command, "--repeat 0: expected a whole number from 1");
    }
    if (!set_arguments(profiling, rest)) {
        return CLI_FAILED;
    }
    if (ig_folder_temporary(&profiling->folder, &error)) {
        cli_error("%s", ig_error_text(&error));
        ig_error_clear(&error);
        return CLI_FAILED;
    }
    bool good = run_both(profiling) && make_report(profiling);
    ig_folder_remove(profiling->folder);
    free(profiling->folder);
    if (!good) {
        return profiling->status ? profiling->status : CLI_FAILED;
    }
    return write_report(profiling);
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct profiling profiling = {.repeat = 20};
    const struct cli_option options[] = {
        {"html", 0, CLI_STRING, "FILE", "write a page: source with heat, roofline, hints",
         &profiling.html},
        {"json", 0, CLI_FLAG, NULL, "print JSON; keys are only ever added", &profiling.json},
        {"all", 0, CLI_FLAG, NULL, "print the lines of every kernel, not of three", &profiling.all},
        {"repeat", 0, CLI_COUNT, "N", "how often a kernel of FILE is timed (20)",
         &profiling.repeat},
        {"times", 0, CLI_FLAG, NULL, "only the run for times, without counters",
         &profiling.only_times},
        {"counters", 0, CLI_FLAG, NULL, "only the run with counters, whose times mean little",
         &profiling.only_counters},
        {"no-ceilings", 0, CLI_FLAG, NULL, "do not measure the machine's ceilings",
         &profiling.no_ceilings},
        {0},
    };
    struct cli_list rest = {0}, positionals = {0};
    char **own = calloc((size_t)argc + 1, sizeof *own);
    int own_count = 0, status = CLI_FAILED;
    if (own && cli_split(options, argc, argv, own, &own_count, &rest, &profiling.is_program) &&
        cli_parse(command, options, own_count, own, &positionals, &status)) {
        status = execute(command, &profiling, &rest);
    }
    free(own);
    cli_list_free(&rest);
    cli_list_free(&positionals);
    ig_profile_free(&profiling.report.times);
    ig_profile_free(&profiling.report.counters);
    ig_arena_free(&profiling.report.arena);
    return status;
}

const struct cli_command cli_profile = {
    .name = "profile",
    .summary = "where the time of a kernel or of a program goes, by line",
    .usage = "[OPTION]... FILE KERNEL --threads X[,Y[,Z]] ... ARG...  |  [OPTION]... -- PROGRAM...",
    .help =
        "Runs a kernel as `ingot run` does, with its options and arguments, or any program that\n"
        "uses libingot, torch with ingot, or Metal's host API on ingot. It runs twice: as it is,\n"
        "for times, and with counters in its kernels, for what their lines do. Counters are those\n"
        "of a GPU with SIMD-groups of 32 lanes, cache lines of 128 bytes and 32 banks of 4 bytes;\n"
        "kernels of CPU devices have them. INGOT_TRACE=FILE writes a timeline for Perfetto.",
    .examples = "  ingot profile examples/saxpy.metal saxpy --threads 1048576 \\\n"
                "      f32:2 f32[1048576] f32[1048576]\n"
                "  ingot profile --html profile.html -- python3 train.py",
    .run = run,
};
