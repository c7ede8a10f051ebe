/* `ingot bench`: how fast the operations are, against this machine's own ceilings and against an
 * earlier run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scalar.h"
#include "cli/baseline.h"
#include "cli/health.h"
#include "cli/page.h"
#include "cli/tools.h"

struct bench {
    struct tool_selection selection;
    struct tool_place place;
    struct tool_device device;
    struct tool_rows rows;
    struct igh_ceilings ceilings;
    struct bench_row *results;
    const char *save, *compare, *html;
    bool json, csv, no_ceilings, list, large, verbose;
    double seconds, tolerance;
    struct baseline baseline;
    size_t failed, regressed, compared;
};

/* ---- the table, of at most 100 columns ---- */

static int names_width(const struct bench *bench) {
    return bench->compare ? 39 : 46;
}

static void print_header(const struct bench *bench) {
    printf("%s%s%s (%s, %s)\n", cli_bold(stdout), bench->device.info.name, cli_plain(stdout),
           bench->device.info.description, bench->device.info.target);
    if (bench->ceilings.bytes_per_second > 0) {
        printf("It copies %.1f GB/s, and does %.0f GFLOP/s of multiply-adds\n",
               bench->ceilings.bytes_per_second * 1e-9, bench->ceilings.flops_per_second * 1e-9);
    }
    printf("\n%s%-14s %-4s %-*s %9s %6s %8s %8s %9s%s%s\n", cli_dim(stdout), "operation", "type",
           names_width(bench) - 20, "case", "median", "spread", "GB/s", "GFLOP/s", "ceiling",
           bench->compare ? "   before" : "", cli_plain(stdout));
}

/* Operation, type and case; what does not fit ends in a mark. */
static void print_names(const struct bench_row *row, int width) {
    char names[256];
    int length = snprintf(names, sizeof names, "%-14s %-4s %s", row->row.suite->operation,
                          ig_scalar_name(row->row.type), row->row.test->name);
    if (length > width) {
        printf("%.*s…", width - 1, names);
    } else {
        printf("%-*s", width, names);
    }
}

static void print_rate(double amount, double seconds) {
    double rate = amount / seconds * 1e-9;
    if (amount <= 0) {
        printf(" %8s", "");
    } else {
        printf(rate < 10 ? " %8.2f" : rate < 1000 ? " %8.1f" : " %8.0f", rate);
    }
}

static void print_change(const struct bench_row *row) {
    if (row->baseline <= 0) {
        printf(" %8s", "new");
        return;
    }
    double times = row->timing.median / row->baseline, change = (times - 1) * 100;
    bool is_huge = change > 9999;
    printf(is_huge        ? " %s%7.0f×%s"
           : change < 1e3 ? " %s%+7.1f%%%s"
                          : " %s%+7.0f%%%s",
           row->regressed ? cli_red(stdout)
           : change < -5  ? cli_green(stdout)
                          : "",
           is_huge ? times : change, cli_plain(stdout));
}

static void print_row(const struct bench *bench, const struct bench_row *row) {
    char text[32];
    print_names(row, names_width(bench));
    if (*row->error) {
        printf(" %sFAILED%s %s\n", cli_red(stdout), cli_plain(stdout), row->error);
        return;
    }
    const struct igh_timing *timing = &row->timing;
    printf(" ");
    tool_print(stdout, -9, tool_seconds(timing->median, text));
    const double spread = timing->median > 0 ? (timing->p90 - timing->p10) / timing->median : 0;
    const bool is_wild = spread > 99.99; /* the machine did something else meanwhile */
    printf(is_wild ? " %5.0f×" : " %5.0f%%", spread * (is_wild ? 1 : 100));
    print_rate(row->bytes, timing->median);
    print_rate(row->flops, timing->median);
    if (row->share > 0) {
        bool is_huge = row->share > 9.99; /* from a cache, or by a ceiling that was disturbed */
        printf(is_huge ? " %3.0f× %-4s" : " %3.0f%% %-4s",
               is_huge ? fmin(row->share, 999) : row->share * 100, row->by_bytes ? "copy" : "fma");
    } else {
        printf(" %9s", "");
    }
    if (bench->compare) {
        print_change(row);
    }
    printf("%s\n", row->regressed ? " SLOWER" : "");
    if (bench->verbose) {
        printf("    %s, %s\n", row->variant, row->launch);
    }
}

/* ---- files ---- */

static void write_csv(const struct bench *bench, struct ig_text *csv) {
    ig_text_puts(csv, "device,operation,type,case,seconds,p10,p90,best,bytes,flops,share,ceiling,"
                      "variant,launch\n");
    for (size_t i = 0; i < bench->rows.count; i++) {
        const struct bench_row *row = &bench->results[i];
        if (*row->error) {
            continue;
        }
        const char *const words[] = {bench->device.info.name, row->row.suite->operation,
                                     ig_scalar_name(row->row.type), row->row.test->name};
        for (int w = 0; w < 4; w++) {
            baseline_field(csv, words[w]);
            ig_text_puts(csv, ",");
        }
        ig_text_printf(csv, "%.9g,%.9g,%.9g,%.9g,%.17g,%.17g,%.4f,%s,", row->timing.median,
                       row->timing.p10, row->timing.p90, row->timing.best, row->bytes, row->flops,
                       row->share,
                       row->share <= 0 ? ""
                       : row->by_bytes ? "copy"
                                       : "fma");
        baseline_field(csv, row->variant);
        ig_text_puts(csv, ",");
        baseline_field(csv, row->launch);
        ig_text_puts(csv, "\n");
    }
}

static void write_json(const struct bench *bench, struct ig_text *text) {
    struct ig_json json = {.out = text};
    char date[32];
    ig_json_object(&json, NULL);
    ig_json_string(&json, "ingot", ingot_version());
    ig_json_string(&json, "date", tool_date(date));
    tool_json_device(&json, &bench->device);
    bench_json_ceilings(&json, &bench->ceilings);
    ig_json_u64(&json, "rotate_bytes", igh_rotate_bytes());
    ig_json_array(&json, "rows");
    for (size_t i = 0; i < bench->rows.count; i++) {
        bench_json_row(&json, &bench->results[i]);
    }
    ig_json_array_end(&json);
    ig_json_u64(&json, "failed", bench->failed);
    ig_json_u64(&json, "regressed", bench->regressed);
    ig_json_object_end(&json);
}

static bool save(const struct bench *bench) {
    struct ig_text csv = {0};
    struct ig_error error = {0};
    write_csv(bench, &csv);
    if (csv.failed) {
        ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for %s", bench->save);
    } else {
        ig_file_write(bench->save, csv.data, csv.size, &error);
    }
    ig_text_free(&csv);
    if (error.status) {
        cli_error("%s", ig_error_text(&error));
    }
    bool saved = !error.status;
    ig_error_clear(&error);
    return saved;
}

static bool read_baseline(struct bench *bench) {
    struct ig_error error = {0};
    char *text = NULL;
    size_t size;
    if (!ig_file_read(bench->compare, 0, &text, &size, &error)) {
        baseline_read(&bench->baseline, bench->compare, text, size, &error);
    }
    if (error.status) {
        cli_error("%s", ig_error_text(&error));
    }
    bool fine = !error.status;
    ig_error_clear(&error);
    return fine;
}

/* Slower than the baseline by more than the tolerance, and not by chance: even the quick tenth of
 * the samples is slower than the baseline's median. */
static void compare(struct bench *bench, struct bench_row *row) {
    const struct baseline_entry *entry =
        baseline_find(&bench->baseline, row->row.suite->operation, ig_scalar_name(row->row.type),
                      row->row.test->name);
    if (!entry || *row->error) {
        return;
    }
    row->baseline = entry->median;
    row->regressed = row->timing.median > entry->median * (1 + bench->tolerance / 100) &&
                     row->timing.p10 > entry->median;
    bench->compared++;
    bench->regressed += row->regressed;
}

/* ---- the run ---- */

static bool measure_all(struct bench *bench) {
    struct ig_error error = {0};
    bool quiet = bench->json || bench->csv;
    cli_progress(0, bench->rows.count, "the machine's ceilings");
    if (!bench->no_ceilings && !bench->list &&
        igh_ceilings_measure(&bench->device.options, &bench->ceilings, &error)) {
        cli_error("%s", ig_error_text(&error));
        ig_error_clear(&error);
        return false;
    }
    cli_progress_end();
    if (!quiet) {
        print_header(bench);
    }
    for (size_t i = 0; i < bench->rows.count; i++) {
        char name[160];
        struct bench_row *row = &bench->results[i];
        cli_progress(i, bench->rows.count, tool_row_name(&bench->rows.items[i], name));
        bench->failed += bench->list ? !bench_describe(&bench->device, &bench->rows.items[i], row)
                                     : !bench_measure(&bench->device, &bench->ceilings,
                                                      &bench->rows.items[i], bench->seconds, row);
        compare(bench, row);
        cli_progress_end();
        if (!quiet) {
            print_row(bench, row);
            fflush(stdout);
        } else if (*row->error) {
            cli_error("%s: %s", tool_row_name(&row->row, name), row->error);
        }
    }
    return true;
}

static bool write_page(const struct bench *bench) {
    struct ig_text text = {0};
    char date[32];
    const struct health_device device = {.info = bench->device.info,
                                         .ceilings = bench->ceilings,
                                         .bench = bench->results,
                                         .bench_count = bench->rows.count,
                                         .bench_rows = bench->rows.count};
    page_begin(&text, "ingot bench");
    ig_text_puts(&text, "<h1>ingot bench</h1>\n<p class=\"dim\">");
    ig_text_printf(&text, "ingot %s, %s, ", ingot_version(), tool_date(date));
    page_escape(&text, bench->device.info.description);
    ig_text_puts(&text, "</p>\n");
    health_speed(&device, 0, &text);
    page_end(&text);
    bool written = cli_write_file(bench->html, &text);
    ig_text_free(&text);
    return written;
}

static int report(struct bench *bench) {
    struct ig_text text = {0};
    if (bench->json) {
        write_json(bench, &text);
    } else if (bench->csv) {
        write_csv(bench, &text);
    }
    if (text.failed) {
        cli_error("out of memory");
        ig_text_free(&text);
        return CLI_FAILED;
    }
    if (bench->json || bench->csv) {
        printf("%s%s", ig_text_string(&text), bench->json ? "\n" : "");
    } else if (bench->compare) {
        printf("\n%zu rows compared with %s, %s%zu slower%s by more than %g%%\n", bench->compared,
               bench->compare, bench->regressed ? cli_red(stdout) : "", bench->regressed,
               cli_plain(stdout), bench->tolerance);
    }
    ig_text_free(&text);
    bool saved = (!bench->save || save(bench)) && (!bench->html || write_page(bench));
    return saved && !bench->failed && !bench->regressed ? CLI_OK : CLI_FAILED;
}

static int execute(const struct cli_command *command, struct bench *bench) {
    if (bench->json && bench->csv) {
        return cli_usage_error(command, "--json and --csv exclude each other");
    }
    if (bench->list && (!bench->json || bench->save || bench->compare)) {
        return cli_usage_error(command,
                               "--list goes with --json, and without --save and --compare");
    }
    if (!(bench->seconds > 0) || bench->seconds > 3600) {
        return cli_usage_error(command, "--time %g: expected seconds, more than 0 and at most 3600",
                               bench->seconds);
    }
    int status = tool_select(command, &bench->selection, bench->large ? IGH_LARGE : IGH_BENCH, 0,
                             &bench->rows);
    if (status) {
        return status;
    }
    if (!bench->rows.fits) {
        cli_error("no case that is measured fits the selection");
        return CLI_FAILED;
    }
    bench->results = calloc(bench->rows.count, sizeof *bench->results);
    if (!bench->results) {
        cli_error("out of memory");
        return CLI_FAILED;
    }
    if ((bench->compare && !read_baseline(bench)) ||
        !tool_open(&bench->device, &bench->place, NULL, NULL) || !measure_all(bench)) {
        return CLI_FAILED;
    }
    return report(bench);
}

static int run(const struct cli_command *command, int argc, char **argv) {
    struct bench bench = {.seconds = 0.3, .tolerance = 10};
    uint32_t repeat; /* bench_kernel.c reads it */
    const struct cli_option options[] = {
        TOOL_SELECTION_OPTIONS(bench.selection),
        TOOL_PLACE_OPTIONS(bench.place),
        {"time", 't', CLI_NUMBER, "SECONDS", "how long each row is measured (0.3)", &bench.seconds},
        {"save", 0, CLI_STRING, "FILE", "write the results to FILE, for --compare", &bench.save},
        {"compare", 0, CLI_STRING, "FILE", "mark what is slower than in FILE; exit 1 if any",
         &bench.compare},
        {"tolerance", 0, CLI_NUMBER, "PERCENT", "what counts as slower (10)", &bench.tolerance},
        {"no-ceilings", 0, CLI_FLAG, NULL, "do not measure the machine's ceilings",
         &bench.no_ceilings},
        {"large", 0, CLI_FLAG, NULL, "the rows of sizes for GPUs, instead of the others",
         &bench.large},
        {"json", 0, CLI_FLAG, NULL, "print JSON", &bench.json},
        {"list", 0, CLI_FLAG, NULL, "with --json: describe the rows and measure nothing",
         &bench.list},
        {"csv", 0, CLI_FLAG, NULL, "print CSV", &bench.csv},
        {"verbose", 'v', CLI_FLAG, NULL, "also the kernel variant and the launch of each row",
         &bench.verbose},
        {"html", 0, CLI_STRING, "FILE", "write a page with the roofline", &bench.html},
        {"repeat", 0, CLI_COUNT, "N", "of a kernel: launches of each size (20)", &repeat},
        {0},
    };
    int status;
    if (bench_is_kernel(argc, argv)) {
        return bench_kernel(command, argc, argv);
    }
    if (cli_parse(command, options, argc, argv, &bench.selection.operations, &status)) {
        status = execute(command, &bench);
    }
    tool_close(&bench.device);
    tool_rows_free(&bench.rows);
    tool_selection_free(&bench.selection);
    baseline_free(&bench.baseline);
    free(bench.results);
    return status;
}

const struct cli_command cli_bench = {
    .name = "bench",
    .summary = "measure operations, against this machine's ceilings",
    .usage = "[OPERATION]... [OPTION]...  |  FILE KERNEL --threads X[,Y[,Z]] [OPTION]... ARG...",
    .help =
        "Measures the operations (all, or those named; * and ? may be used) on inputs that rotate\n"
        "past the cache. Each row shows the median time of a launch, the spread (10% to 90%), and\n"
        "the share of the ceiling that limits it: copying memory or multiply-adds, both measured "
        "on\n"
        "this machine at the start.\n\n"
        "With FILE and KERNEL, options and arguments are those of `ingot run`, and the kernel is\n"
        "measured with threadgroups of many sizes, unless --group says one. Of the options below\n"
        "--html, --json, --no-ceilings and --repeat hold then.",
    .examples = "  ingot bench softmax --type f32\n"
                "  ingot bench --save before.csv; …; ingot bench --compare before.csv\n"
                "  ingot bench examples/saxpy.metal saxpy --threads 1048576 --html saxpy.html \\\n"
                "      f32:2 f32[1048576] f32[1048576]",
    .run = run,
};
