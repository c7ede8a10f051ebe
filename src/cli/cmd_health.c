/* `ingot health`: every operation's cases, checked on every device that is here, and the reports
 * of it. Cases are checked by several threads at once, each with a stream of its own. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/scalar.h"
#include "cli/health.h"

struct health {
    struct tool_selection selection;
    struct tool_place place;
    const char *junit, *html;
    bool all, json, verbose, no_bench;
    uint32_t jobs, repeats;
    double bench_seconds, bench_budget;
    struct tool_rows rows, bench_rows;
    struct health_report report;
    size_t findings;                   /* of --sanitize */
    struct cli_list levels;            /* of --cpu, each a device */
    struct igh_references *references; /* of each row, for the next device; NULL: there is one */
    uint64_t reference_bytes;          /* that they take */
};

/* ---- the table ---- */

static const char *mark(size_t tried, size_t bad) {
    return bad ? "NO" : tried ? "yes" : "-";
}

static void print_header(void) {
    printf("%s%-26s %-13s %9s %12s  %-13s %-7s %-6s %8s%s\n", cli_dim(stdout), "operation", "types",
           "cases", "worst/bound", "deterministic", "NaN/Inf", "empty", "time", cli_plain(stdout));
}

static void print_summary(const struct health_summary *s) {
    char types[64] = "", cases[32], time[32], worst[32] = "-";
    for (int type = INGOT_SCALAR_F32; type > INGOT_SCALAR_NONE; type--) {
        if (s->types >> type & 1 && strlen(types) + 8 < sizeof types) {
            strcat(types, *types ? " " : "");
            strcat(types, ig_scalar_name((ingot_scalar_type)type));
        }
    }
    snprintf(cases, sizeof cases, "%zu/%zu", s->end - s->first - s->failed, s->end - s->first);
    if (isfinite(s->worst)) {
        snprintf(worst, sizeof worst, "%.3f", s->worst);
    } else {
        snprintf(worst, sizeof worst, "over");
    }
    printf("%s%-26s%s %-13s %9s %12s  %-13s %-7s %-6s ",
           s->failed ? cli_red(stdout) : cli_green(stdout), s->operation, cli_plain(stdout), types,
           cases, worst, mark(s->repeated, s->differing), mark(s->specials, s->specials_failed),
           mark(s->empty, s->empty_failed));
    tool_print(stdout, -8, tool_seconds(s->seconds, time));
    printf("%s\n", s->failed ? "  FAILED" : "");
}

static void print_case(const struct health_case *c) {
    char name[160], time[32], worst[32] = "over";
    double severity = health_severity(c->result.worst);
    printf("%s%-6s%s ", c->result.passed ? cli_green(stdout) : cli_red(stdout),
           c->result.passed ? "ok" : "FAILED", cli_plain(stdout));
    tool_print(stdout, 52, tool_row_name(&c->row, name));
    if (isfinite(severity)) {
        snprintf(worst, sizeof worst, "%.3f", severity);
    }
    printf(" %8s ", worst);
    tool_print(stdout, -8, tool_seconds(c->result.seconds, time));
    printf("  %s\n", c->result.variant);
}

static void print_failure(const struct health_device *device, const struct health_case *c) {
    char name[160];
    printf("\n%sFAILED%s %s on %s\n  %s\n", cli_red(stdout), cli_plain(stdout),
           tool_row_name(&c->row, name), device->info.name, c->result.message);
    if (*c->result.variant) {
        printf("  variant %s, %s\n", c->result.variant, c->result.launch);
    }
    for (size_t i = 0; i < c->result.metric_count; i++) {
        const struct igh_metric *m = &c->result.metrics[i];
        if (!(m->value <= m->bound)) {
            printf("  %s is %.4g; at most %.4g\n", m->name, m->value, m->bound);
        }
    }
    printf("  again: ingot health %s --type %s --case '=%s' --device %s%s%s\n",
           c->row.suite->operation, ig_scalar_name(c->row.type), c->row.test->name,
           device->info.name, device->level ? " --cpu " : "", device->level ? device->level : "");
}

/* ---- checking ---- */

static double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct work {
    struct health *health;
    struct health_device *device;
    pthread_mutex_t lock;
    size_t next, shown, done;  /* under lock, as all below */
    struct tool_device *place; /* the device as it is open now */
    struct tool_device *lost;  /* those before: threads may still use them */
    size_t lost_count;
    bool is_alone, is_given_up;
};

/* What a thread checks with: the device, and a stream of its own there. */
struct checker {
    ingot_device *device;
    struct igh_options options;
    bool has_stream;
};

/* Have all cases of the operation that starts at `first` been checked? */
static bool operation_done(const struct health_device *device, size_t first) {
    const struct health_case *cases = device->cases;
    for (size_t i = first; i < device->case_count; i++) {
        if (strcmp(cases[i].row.suite->operation, cases[first].row.suite->operation)) {
            break;
        }
        if (!cases[i].done) {
            return false;
        }
    }
    return true;
}

/* Prints what is complete, in order: under the lock. */
static void show_finished(struct work *work) {
    struct health_device *device = work->device;
    const struct health *health = work->health;
    struct health_summary summary;
    while (!health->json && work->shown < device->case_count) {
        if (health->verbose) {
            if (!device->cases[work->shown].done) {
                break;
            }
            print_case(&device->cases[work->shown++]);
            continue;
        }
        if (!operation_done(device, work->shown) ||
            !health_summarise(device, work->shown, &summary)) {
            break;
        }
        print_summary(&summary);
        work->shown = summary.end;
    }
    fflush(stdout);
}

/* ---- devices that kernels lose ---- */

/* Under the lock: from now on on the device that is open. */
static void use_device(struct work *work, struct checker *checker) {
    if (checker->device == work->place->device) {
        return;
    }
    if (checker->has_stream) {
        ingot_stream_release(checker->options.stream);
    }
    checker->device = work->place->device;
    checker->options = work->place->options;
    checker->options.gradients = true;
    checker->options.repeats = work->health->repeats;
    checker->has_stream = !ingot_stream_create(checker->device, &checker->options.stream);
}

static bool is_lost(ingot_device *device) {
    ingot_buffer *probe = NULL;
    bool lost = ingot_buffer_create(device, 1, &probe) == INGOT_DEVICE_LOST;
    ingot_buffer_release(probe);
    return lost;
}

/* Under the lock: the device was lost while `c` ran. Opens it again, unless somebody has. */
static void open_again(struct work *work, const struct checker *checker,
                       const struct health_case *c) {
    char name[160];
    struct tool_place place = work->health->place;
    if (checker->device != work->place->device || work->is_given_up) {
        return;
    }
    struct tool_device *lost = realloc(work->lost, (work->lost_count + 1) * sizeof *lost);
    struct tool_device opened = {0};
    place.own_process = true; /* the next kernel like it can be ended */
    cli_progress_end();
    if (!lost || !tool_open(&opened, &place, work->device->info.name, NULL)) {
        work->lost = lost ? lost : work->lost;
        work->is_given_up = true;
        tool_close(&opened);
        return;
    }
    fflush(stdout);
    cli_warning("%s: %s; the device was lost and is open again: %s", tool_row_name(&c->row, name),
                c->result.message, opened.info.description);
    work->lost = lost;
    work->lost[work->lost_count++] = *work->place;
    *work->place = opened;
}

/* Under the lock: where the case's reference is kept for the next device. NULL when there is none,
 * or enough is kept. */
static struct igh_references *references_of(const struct work *work, const struct health_case *c) {
    const uint64_t most = (uint64_t)1 << 30;
    const struct health *health = work->health;
    struct igh_references *own =
        health->references ? &health->references[c - work->device->cases] : NULL;
    bool is_known = own && (own->plain.is_known || own->specials.is_known);
    return is_known || health->reference_bytes < most ? own : NULL;
}

/* With the lock held, which it gives back meanwhile. */
static void check_one(struct work *work, struct checker *checker, struct health_case *c) {
    char name[160];
    use_device(work, checker);
    struct igh_references *kept = checker->options.references = references_of(work, c);
    uint64_t bytes_before = kept ? kept->plain.bytes + kept->specials.bytes : 0;
    pthread_mutex_unlock(&work->lock);
    if (checker->has_stream) {
        igh_check(&checker->options, c->row.suite, c->row.test, c->row.type, &c->result);
    } else {
        snprintf(c->result.message, sizeof c->result.message, "no stream: %s",
                 ingot_error_message());
    }
    bool lost = !c->result.passed && is_lost(checker->device);
    pthread_mutex_lock(&work->lock);
    if (kept) {
        work->health->reference_bytes += kept->plain.bytes + kept->specials.bytes - bytes_before;
    }
    if (lost) {
        open_again(work, checker, c);
    }
    c->again = lost && !work->is_alone && !work->is_given_up;
    if (c->again) {
        return;
    }
    c->done = true;
    work->done++;
    work->device->failed += !c->result.passed;
    cli_progress_end();
    show_finished(work);
    cli_progress(work->done, work->device->case_count, tool_row_name(&c->row, name));
}

static void *check_cases(void *argument) {
    struct work *work = argument;
    struct checker checker = {0};
    pthread_mutex_lock(&work->lock);
    while (work->next < work->device->case_count) {
        check_one(work, &checker, &work->device->cases[work->next++]);
    }
    pthread_mutex_unlock(&work->lock);
    if (checker.has_stream) {
        ingot_stream_release(checker.options.stream);
    }
    return NULL;
}

/* Whose kernel lost a device that several used is seen when each runs alone. */
static void check_suspects(struct work *work) {
    struct checker checker = {0};
    pthread_mutex_lock(&work->lock);
    work->is_alone = true;
    for (size_t i = 0; i < work->device->case_count; i++) {
        if (work->device->cases[i].again) {
            check_one(work, &checker, &work->device->cases[i]);
        }
    }
    pthread_mutex_unlock(&work->lock);
    if (checker.has_stream) {
        ingot_stream_release(checker.options.stream);
    }
    for (size_t i = 0; i < work->lost_count; i++) {
        tool_close(&work->lost[i]);
    }
    free(work->lost);
}

static uint32_t job_count(const struct health *health) {
    enum { MOST = 8 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t jobs = health->jobs ? health->jobs : cores > 0 ? (uint32_t)cores : 1;
    return jobs > MOST && !health->jobs ? MOST : jobs > 64 ? 64 : jobs;
}

static void check_device(struct health *health, struct tool_device *place,
                         struct health_device *device) {
    struct work work = {.health = health, .device = device, .place = place};
    double start = clock_seconds();
    pthread_t threads[64];
    uint32_t jobs = job_count(health), started = 0;
    pthread_mutex_init(&work.lock, NULL);
    work.is_alone = jobs == 1;
    while (started + 1 < jobs && !pthread_create(&threads[started], NULL, check_cases, &work)) {
        started++;
    }
    check_cases(&work);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    check_suspects(&work);
    pthread_mutex_destroy(&work.lock);
    device->seconds = clock_seconds() - start;
    cli_progress_end();
}

/* ---- the quick bench for the page ---- */

struct quick {
    size_t at;       /* its place among the bench's rows */
    size_t priority; /* low ones come first: the last case of each operation, in float32 */
};

static int compare_quick(const void *a, const void *b) {
    const struct quick *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority < y->priority ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

static int compare_rows(const void *a, const void *b) {
    const struct bench_row *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct quick *quick_order(const struct tool_rows *rows) {
    struct quick *order = calloc(rows->count + 1, sizeof *order);
    for (size_t i = 0; i < rows->count && order; i++) {
        const struct tool_row *row = &rows->items[i];
        size_t later = 0;
        for (size_t k = i + 1; k < rows->count; k++) {
            later += rows->items[k].suite == row->suite && rows->items[k].type == row->type;
        }
        size_t type = row->type == INGOT_SCALAR_F32    ? 0
                      : row->type == INGOT_SCALAR_BF16 ? 1
                      : row->type == INGOT_SCALAR_F16  ? 2
                                                       : 3;
        order[i] = (struct quick){i, 4 * later + type};
    }
    if (order) {
        qsort(order, rows->count, sizeof *order, compare_quick);
    }
    return order;
}

/* Once before and once after the rows, and the better of the two counts: others may use the
 * machine too. */
static void measure_ceilings(const struct tool_device *place, struct health_device *device) {
    struct ig_error error = {0};
    struct igh_ceilings now = {0};
    if (igh_ceilings_measure(&place->options, &now, &error)) {
        cli_warning("%s", ig_error_text(&error));
    }
    device->ceilings.bytes_per_second =
        fmax(device->ceilings.bytes_per_second, now.bytes_per_second);
    device->ceilings.flops_per_second =
        fmax(device->ceilings.flops_per_second, now.flops_per_second);
    ig_error_clear(&error);
}

/* Measures as many rows as there is time for. */
static void bench_device(struct health *health, struct tool_device *place,
                         struct health_device *device) {
    const struct tool_rows *rows = &health->bench_rows;
    struct quick *order = quick_order(rows);
    char name[160];
    device->bench = calloc(rows->count + 1, sizeof *device->bench);
    device->bench_rows = rows->count;
    measure_ceilings(place, device);
    double start = clock_seconds();
    for (size_t i = 0; i < rows->count && order && device->bench; i++) {
        const struct tool_row *row = &rows->items[order[i].at];
        if (clock_seconds() - start > health->bench_budget) {
            break;
        }
        cli_progress(i, rows->count, tool_row_name(row, name));
        struct bench_row *result = &device->bench[device->bench_count++];
        bench_measure(place, NULL, row, health->bench_seconds, result);
        result->order = order[i].at;
    }
    cli_progress_end();
    measure_ceilings(place, device);
    for (size_t i = 0; i < device->bench_count; i++) {
        struct bench_row *row = &device->bench[i];
        row->share = igh_ceiling_share(&device->ceilings, row->bytes, row->flops,
                                       row->timing.median, &row->by_bytes);
    }
    if (device->bench) {
        qsort(device->bench, device->bench_count, sizeof *device->bench, compare_rows);
    }
    free(order);
}

static bool run_device(struct health *health, const char *name, struct health_device *device) {
    struct tool_device place;
    bool fine = tool_open(&place, &health->place, name, NULL);
    device->cases = calloc(health->rows.count + 1, sizeof *device->cases);
    if (fine && !device->cases) {
        cli_error("out of memory");
        fine = false;
    }
    if (fine) {
        device->info = place.info;
        device->level = health->place.level;
        device->case_count = health->rows.count;
        for (size_t i = 0; i < health->rows.count; i++) {
            device->cases[i].row = health->rows.items[i];
        }
        if (!health->json) {
            printf("%s%s%s  %s, %s\n", cli_bold(stdout), place.info.name, cli_plain(stdout),
                   place.info.description, place.info.target);
            if (!health->verbose) {
                print_header();
            }
            fflush(stdout);
        }
        check_device(health, &place, device);
        if (health->html && !health->no_bench) {
            bench_device(health, &place, device);
        }
        health->findings += ingot_device_finding_count(place.device);
    }
    tool_close(&place);
    return fine;
}

/* ---- all of it ---- */

static bool has_cases(const char *operation) {
    for (size_t i = 0; i < igh_all_suites_count; i++) {
        for (size_t k = 0; k < igh_all_suites[i]->count; k++) {
            if (!strcmp(igh_all_suites[i]->suites[k]->operation, operation) &&
                igh_all_suites[i]->suites[k]->case_count) {
                return true;
            }
        }
    }
    return false;
}

/* An operation that nothing checks is not healthy. */
static void find_uncovered(struct health *health) {
    for (size_t i = 0; i < ingot_ops_count(); i++) {
        ingot_ops_info info;
        if (!ingot_ops_describe(i, &info) && !has_cases(info.name)) {
            cli_list_add(&health->report.uncovered, info.name);
        }
    }
}

static bool write_report(const struct health_report *report, const char *path,
                         void (*write)(const struct health_report *, struct ig_text *)) {
    struct ig_text text = {0};
    struct ig_error error = {0};
    write(report, &text);
    if (text.failed) {
        ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for %s", path);
    } else {
        ig_file_write(path, text.data, text.size, &error);
    }
    ig_text_free(&text);
    if (error.status) {
        cli_error("%s", ig_error_text(&error));
    }
    bool written = !error.status;
    ig_error_clear(&error);
    return written;
}

static void print_outcome(const struct health *health) {
    const struct health_report *report = &health->report;
    double seconds = 0;
    for (size_t d = 0; d < report->device_count; d++) {
        const struct health_device *device = &report->devices[d];
        seconds += device->seconds;
        for (size_t i = 0; i < device->case_count; i++) {
            if (!device->cases[i].result.passed) {
                print_failure(device, &device->cases[i]);
            }
        }
    }
    for (size_t i = 0; i < report->uncovered.count; i++) {
        printf("\n%sFAILED%s %s has no cases: nothing checks it\n", cli_red(stdout),
               cli_plain(stdout), report->uncovered.items[i]);
    }
    printf("\n%s%zu passed, %zu failed%s in %.0f s on %zu device%s\n",
           report->failed ? cli_red(stdout) : cli_green(stdout), report->passed, report->failed,
           cli_plain(stdout), seconds, report->device_count, report->device_count == 1 ? "" : "s");
}

static int conclude(struct health *health) {
    struct health_report *report = &health->report;
    for (size_t d = 0; d < report->device_count; d++) {
        report->failed += report->devices[d].failed;
        report->passed += report->devices[d].case_count - report->devices[d].failed;
    }
    report->failed += report->uncovered.count;
    tool_date(report->date);
    bool written = true;
    if (health->json) {
        struct ig_text text = {0};
        health_json(report, &text);
        printf("%s\n", ig_text_string(&text));
        written = !text.failed;
        ig_text_free(&text);
    } else {
        print_outcome(health);
    }
    if (health->junit) {
        written &= write_report(report, health->junit, health_junit);
    }
    if (health->html) {
        bool page = write_report(report, health->html, health_html);
        if (page && !health->json) {
            printf("report: %s\n", health->html);
        }
        written &= page;
    }
    return written && !report->failed ? CLI_OK : CLI_FAILED;
}

/* One device, at each level of --cpu; once if it has none of them. */
static bool run_levels(struct health *health, const char *name) {
    size_t at = 0;
    bool has_levels;
    do {
        struct health_device *device = &health->report.devices[health->report.device_count++];
        health->place.level = at < health->levels.count ? health->levels.items[at] : NULL;
        if (!run_device(health, name, device)) {
            return false;
        }
        has_levels = device->level && !strcmp(device->info.target, device->level);
    } while (has_levels && ++at < health->levels.count);
    return true;
}

/* Every device that is here, or the one that was asked for; at each CPU level of --cpu. */
static bool run_devices(struct health *health) {
    /* Checks are for the device that is the default. */
    bool one = health->place.device || health->place.sanitize || ig_environment("INGOT_DEVICE");
    size_t devices = one ? 1 : ingot_device_count();
    size_t levels = health->levels.count ? health->levels.count : 1;
    health->report.devices = calloc(devices * levels + 1, sizeof *health->report.devices);
    if (devices * levels > 1) {
        health->references = calloc(health->rows.count + 1, sizeof *health->references);
    }
    if (!health->report.devices || (devices * levels > 1 && !health->references)) {
        cli_error("out of memory");
        return false;
    }
    for (size_t i = 0; i < devices; i++) {
        ingot_device_info info = {0};
        if (!one && ingot_device_describe(i, &info)) {
            cli_error("device %zu: %s", i, ingot_error_message());
            return false;
        }
        if (!run_levels(health, one ? NULL : info.name)) {
            return false;
        }
    }
    return true;
}

static int execute(const struct cli_command *command, struct health *health) {
    int status = tool_select(command, &health->selection, IGH_CHECK, health->all ? 0 : IGH_SLOW,
                             &health->rows);
    if (!status) {
        status = tool_select(command, &health->selection, IGH_BENCH, health->all ? 0 : IGH_SLOW,
                             &health->bench_rows);
    }
    if (status) {
        return status;
    }
    if (!health->rows.fits) {
        cli_error("no case fits the selection");
        return CLI_FAILED;
    }
    if (!run_devices(health)) {
        return CLI_FAILED;
    }
    if (!health->selection.operations.count && !health->selection.match &&
        !health->selection.types.count && health->selection.shard.index <= 1) {
        find_uncovered(health);
    }
    status = conclude(health);
    return health->findings ? CLI_FINDINGS : status;
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct health health = {.bench_seconds = 0.05, .bench_budget = 60, .repeats = 3};
    const struct cli_option options[] = {
        TOOL_SELECTION_OPTIONS(health.selection),
        TOOL_PLACE_OPTIONS_AT(health.place, CLI_LIST, &health.levels, "; may be repeated"),
        {"part", 0, CLI_SHARD, "I/N", "the same as --shard", &health.selection.shard},
        {"all", 'a', CLI_FLAG, NULL, "slow cases too", &health.all},
        {"verbose", 'v', CLI_FLAG, NULL, "a line for every case", &health.verbose},
        {"repeat", 0, CLI_COUNT, "N", "runs of a case, compared bit by bit (3)", &health.repeats},
        {"jobs", 'j', CLI_COUNT, "N", "cases checked at once (one per core, 8 at most)",
         &health.jobs},
        {"sanitize", 0, CLI_OPTIONAL, "KIND,...",
         "find mistakes in the kernels (all kinds); status 3 if there are any",
         &health.place.sanitize},
        {"json", 0, CLI_FLAG, NULL, "print JSON", &health.json},
        {"junit", 0, CLI_STRING, "FILE", "write JUnit XML", &health.junit},
        {"html", 0, CLI_STRING, "FILE", "write a page with results, a quick bench and a roofline",
         &health.html},
        {"bench-time", 0, CLI_NUMBER, "SECONDS", "how long the page's bench may take (60)",
         &health.bench_budget},
        {"no-bench", 0, CLI_FLAG, NULL, "a page without the bench", &health.no_bench},
        {0},
    };
    int status;
    if (cli_parse(command, options, argc, argv, &health.selection.operations, &status)) {
        status = execute(command, &health);
    }
    for (size_t i = 0; i < health.report.device_count; i++) {
        free(health.report.devices[i].cases);
        free(health.report.devices[i].bench);
    }
    free(health.report.devices);
    for (size_t i = 0; health.references && i < health.rows.count; i++) {
        igh_references_free(&health.references[i]);
    }
    free(health.references);
    cli_list_free(&health.levels);
    cli_list_free(&health.report.uncovered);
    tool_rows_free(&health.rows);
    tool_rows_free(&health.bench_rows);
    tool_selection_free(&health.selection);
    return status;
}

const struct cli_command cli_health = {
    .name = "health",
    .summary = "check every operation against its reference",
    .usage = "[OPERATION]... [OPTION]...",
    .help =
        "Runs the cases of the operations (all, or those named; * and ? may be used) on every\n"
        "device that is here, or on one. Each is compared with a reference in double precision\n"
        "within its bound, repeated and compared bit by bit, and where it has a meaning run with\n"
        "NaN and infinities and with empty tensors. The exit status is 1 on any failure.",
    .examples = "  ingot health\n"
                "  ingot health rms_norm 'softmax*' --verbose\n"
                "  ingot health --html health.html --junit health.xml\n"
                "  ingot health --shard 2/4 --junit 2.xml     # then: ingot merge *.xml -o all.xml",
    .run = run,
};
