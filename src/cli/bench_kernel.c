/*
 * `ingot bench FILE KERNEL …`: a kernel of one's own, with the sizes of threadgroups that fit.
 *
 * Each size is a run of `ingot run`, whose profile has the times of its launches. A last run counts
 * what a launch moves and computes, for the share of the ceiling.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/page.h"
#include "cli/profile.h"

enum { MOST_SIZES = 64, LEAST_THREADS = 32, MOST_THREADS = 1024 };

struct size {
    uint32_t group[3];
    struct ig_profile_kernel times; /* its launches; 0: it did not run */
    const char *reason;             /* why it did not; NULL: not known */
};

struct kernel_bench {
    struct ig_arena arena;
    const char *html;
    bool json, no_ceilings;
    uint32_t repeat;
    struct cli_list rest; /* of `ingot run` */
    uint32_t grid[3], group[3];
    bool has_grid, has_group;
    struct size sizes[MOST_SIZES];
    size_t size_count, best;
    char *folder;
    const char *errors;        /* a file there, with what the last run said */
    int status;                /* of the run that ended all */
    struct ig_profile profile; /* of all runs, one after the other */
    const char *device, *description;
    struct igh_ceilings ceilings;
    double bytes, flops;
};

/* ---- sizes ---- */

/* "X[,Y[,Z]]" of an option of `ingot run`, which checks it. */
static bool read_extent(const struct cli_list *rest, const char *name, const char *letter,
                        uint32_t extent[3]) {
    for (size_t i = 2; i < rest->count; i++) {
        const char *word = rest->items[i], *value = NULL;
        size_t length = strlen(name);
        if (!strcmp(word, name) || !strcmp(word, letter)) {
            value = i + 1 < rest->count ? rest->items[i + 1] : "";
        } else if (!strncmp(word, name, length) && word[length] == '=') {
            value = word + length + 1;
        } else if (!strncmp(word, letter, 2) && word[1] != '-' && word[2]) {
            value = word + 2;
        }
        for (int axis = 0; value && axis < 3; axis++) {
            char *end;
            unsigned long number = strtoul(value, &end, 10);
            extent[axis] = end == value ? 1 : (uint32_t)number;
            value = *end == ',' || *end == 'x' ? end + 1 : "";
        }
        if (value) {
            return true;
        }
    }
    return false;
}

static void add_size(struct kernel_bench *bench, uint32_t x, uint32_t y) {
    if (bench->size_count < MOST_SIZES) {
        bench->sizes[bench->size_count++] = (struct size){.group = {x, y, 1}};
    }
}

/* Powers of two: in x for a grid of one dimension, else in x and y. */
static void choose_sizes(struct kernel_bench *bench) {
    if (bench->has_group) {
        bench->sizes[bench->size_count++] =
            (struct size){.group = {bench->group[0], bench->group[1], bench->group[2]}};
        return;
    }
    bool is_flat = bench->grid[1] <= 1;
    for (uint32_t threads = LEAST_THREADS; threads <= MOST_THREADS; threads *= 2) {
        for (uint32_t y = 1; y <= (is_flat ? 1 : LEAST_THREADS) && threads / y >= 4; y *= 2) {
            if (y == 1 || y < 2 * bench->grid[1]) {
                add_size(bench, threads / y, y);
            }
        }
    }
}

/* ---- runs ---- */

/* Words of a run; in the arena. */
static const char **make_arguments(struct kernel_bench *bench, const struct size *size,
                                   bool is_timed) {
    const char **list = ig_arena_array(&bench->arena, bench->rest.count + 12, sizeof *list);
    size_t count = 0;
    if (!list || !(list[count++] = profile_self(&bench->arena))) {
        return NULL;
    }
    list[count++] = "run";
    list[count++] = "--quiet";
    for (size_t i = 0; i < bench->rest.count; i++) {
        list[count++] = bench->rest.items[i];
    }
    if (!bench->has_group) {
        list[count++] = "--group";
        list[count++] = ig_arena_printf(&bench->arena, "%u,%u,%u", size->group[0], size->group[1],
                                        size->group[2]);
    }
    if (is_timed) {
        list[count++] = "--time";
        list[count++] = "--repeat";
        list[count++] = ig_arena_printf(&bench->arena, "%u", bench->repeat);
    }
    return list;
}

static void show_errors(const struct kernel_bench *bench) {
    char *text = NULL;
    size_t size;
    struct ig_error error = {0};
    if (!ig_file_read(bench->errors, 0, &text, &size, &error)) {
        cli_progress_end();
        fwrite(text, 1, size, stderr);
    }
    free(text);
    ig_error_clear(&error);
}

/* The first line of them, without "ingot: error: ". */
static const char *first_error(struct kernel_bench *bench) {
    static const char mark[] = "error: ";
    char *text = NULL;
    const char *kept = NULL;
    size_t size;
    struct ig_error error = {0};
    if (!ig_file_read(bench->errors, 0, &text, &size, &error)) {
        const char *start = strstr(text, mark);
        start = start ? start + strlen(mark) : text;
        kept = ig_arena_copy(&bench->arena, start, strcspn(start, "\n"));
    }
    free(text);
    ig_error_clear(&error);
    return kept;
}

/* The first run says what is wrong; sizes that do not fit the kernel are left out. */
static bool measure_size(struct kernel_bench *bench, struct size *size) {
    const char **arguments = make_arguments(bench, size, true);
    int status = CLI_OK;
    struct ig_profile profile = {0};
    const struct profile_run run = {.arguments = arguments,
                                    .folder = bench->folder,
                                    .errors = bench->errors,
                                    .is_quiet = true,
                                    .is_own = true};
    bool good = arguments && profile_run(&run, &profile, &status);
    if (!bench->device) {
        show_errors(bench);
        bench->status = status;
    } else if (status) {
        size->reason = first_error(bench);
    }
    if (good && !status && profile.kernel_count == 1) {
        size->times = profile.kernels[0];
        size->times.name = ig_arena_string(&bench->arena, profile.kernels[0].name);
        if (!bench->device) {
            bench->device = ig_arena_string(&bench->arena, profile.kernels[0].device);
            bench->description =
                ig_arena_string(&bench->arena, profile.description ? profile.description : "");
        }
    }
    ig_profile_free(&profile);
    return good;
}

static bool measure_work(struct kernel_bench *bench) {
    const char **arguments = make_arguments(bench, &bench->sizes[bench->best], false);
    int status = CLI_OK;
    const struct profile_run run = {.arguments = arguments,
                                    .folder = bench->folder,
                                    .errors = bench->errors,
                                    .counts = true,
                                    .is_quiet = true,
                                    .is_own = true};
    if (!arguments || !profile_run(&run, &bench->profile, &status)) {
        return false;
    }
    if (status) {
        show_errors(bench);
    }
    const struct ig_profile_kernel *kernel =
        bench->profile.kernel_count == 1 ? &bench->profile.kernels[0] : NULL;
    if (!kernel || !kernel->counted) {
        return true; /* a GPU's: times only */
    }
    bench->bytes = (double)(kernel->bytes_read + kernel->bytes_written) / (double)kernel->counted;
    for (size_t i = 0; i < kernel->line_count; i++) {
        bench->flops += (double)kernel->lines[i].counts[IG_COUNTER_flops] / (double)kernel->counted;
    }
    return true;
}

static void measure_ceilings(struct kernel_bench *bench) {
    struct tool_device device;
    const struct tool_place place = {0};
    struct ig_error error = {0};
    if (tool_open(&device, &place, bench->device, NULL) &&
        igh_ceilings_measure(&device.options, &bench->ceilings, &error)) {
        cli_warning("%s", ig_error_text(&error));
        ig_error_clear(&error);
    }
    tool_close(&device);
}

static bool measure(struct kernel_bench *bench) {
    size_t ran = 0;
    for (size_t i = 0; i < bench->size_count; i++) {
        cli_progress(i, bench->size_count, "sizes of threadgroups");
        if (!measure_size(bench, &bench->sizes[i])) {
            return false;
        }
        const struct size *best = &bench->sizes[bench->best], *size = &bench->sizes[i];
        if (size->times.launches && (!ran || size->times.median_ns < best->times.median_ns)) {
            bench->best = i;
        }
        ran += size->times.launches > 0;
        if (!ran) { /* what is wrong with it is wrong with all */
            break;
        }
    }
    cli_progress_end();
    if (!ran || !measure_work(bench)) {
        return false;
    }
    if (!bench->no_ceilings) {
        cli_progress(0, 1, "the machine's ceilings");
        measure_ceilings(bench);
        cli_progress_end();
    }
    return true;
}

/* ---- results ---- */

static double seconds_of(const struct size *size) {
    return (double)size->times.median_ns * 1e-9;
}

static uint32_t threads_of(const struct size *size) {
    return size->group[0] * size->group[1] * size->group[2];
}

static const char *group_text(const struct size *size, char out[48]) {
    snprintf(out, 48,
             size->group[2] > 1   ? "%u×%u×%u"
             : size->group[1] > 1 ? "%u×%u"
                                  : "%u",
             size->group[0], size->group[1], size->group[2]);
    return out;
}

static double share_of(const struct kernel_bench *bench, const struct size *size, bool *by_bytes) {
    return igh_ceiling_share(&bench->ceilings, bench->bytes, bench->flops, seconds_of(size),
                             by_bytes);
}

/* Sizes that did not run, and why the first of them did not. */
static void left_out(const struct kernel_bench *bench, struct ig_text *out) {
    char text[48];
    const char *reason = NULL;
    for (size_t i = 0; i < bench->size_count; i++) {
        const struct size *size = &bench->sizes[i];
        if (!size->times.launches) {
            ig_text_printf(out, reason ? ", %s" : "left out: %s", group_text(size, text));
            reason = reason ? reason : size->reason ? size->reason : "it did not run";
        }
    }
    if (reason) {
        ig_text_printf(out, ": %s", reason);
    }
}

static void print_table(const struct kernel_bench *bench) {
    char text[48];
    printf("%s%s%s on %s (%s)", cli_bold(stdout), bench->rest.items[1], cli_plain(stdout),
           bench->device, bench->description);
    if (bench->bytes > 0) {
        char bytes[32];
        printf(": a launch moves %s, and does %.4g operations",
               cli_bytes((uint64_t)bench->bytes, bytes), bench->flops);
    }
    printf("\n\n%s%-12s %10s %10s %10s %9s %9s  %s%s\n", cli_dim(stdout), "threadgroup", "median",
           "best", "worst", "GB/s", "GFLOP/s", "ceiling", cli_plain(stdout));
    for (size_t i = 0; i < bench->size_count; i++) {
        const struct size *size = &bench->sizes[i];
        double seconds = seconds_of(size);
        if (!size->times.launches) {
            continue;
        }
        bool by_bytes = false;
        double share = share_of(bench, size, &by_bytes);
        tool_print(stdout, 12, group_text(size, text));
        const uint64_t times[] = {size->times.median_ns, size->times.least_ns, size->times.most_ns};
        for (int t = 0; t < 3; t++) {
            printf(" ");
            tool_print(stdout, -10, tool_seconds((double)times[t] * 1e-9, text));
        }
        printf(" %9.2f %9.2f ", bench->bytes / seconds * 1e-9, bench->flops / seconds * 1e-9);
        if (share > 0) {
            printf(" %.0f%% %s", 100 * share, by_bytes ? "copy" : "fma");
        }
        printf("%s\n", i == bench->best ? "  fastest" : "");
    }
    struct ig_text rest = {0};
    left_out(bench, &rest);
    if (rest.size) {
        printf("\n%s\n", ig_text_string(&rest));
    }
    ig_text_free(&rest);
}

static void write_json(const struct kernel_bench *bench) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "ingot", ingot_version());
    ig_json_string(&json, "file", bench->rest.items[0]);
    ig_json_string(&json, "kernel", bench->rest.items[1]);
    ig_json_string(&json, "device", bench->device);
    bench_json_ceilings(&json, &bench->ceilings);
    ig_json_double(&json, "bytes", bench->bytes);
    ig_json_double(&json, "flops", bench->flops);
    ig_json_array(&json, "sizes");
    for (size_t i = 0; i < bench->size_count; i++) {
        const struct size *size = &bench->sizes[i];
        if (!size->times.launches) {
            continue;
        }
        bool by_bytes;
        ig_json_object(&json, NULL);
        ig_json_array(&json, "group");
        for (int axis = 0; axis < 3; axis++) {
            ig_json_u64(&json, NULL, size->group[axis]);
        }
        ig_json_array_end(&json);
        ig_json_double(&json, "median", seconds_of(size));
        ig_json_double(&json, "best", (double)size->times.least_ns * 1e-9);
        ig_json_double(&json, "worst", (double)size->times.most_ns * 1e-9);
        ig_json_u64(&json, "launches", size->times.launches);
        ig_json_double(&json, "share", share_of(bench, size, &by_bytes));
        ig_json_bool(&json, "fastest", i == bench->best);
        ig_json_object_end(&json);
    }
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    printf("%s\n", ig_text_string(&text));
    ig_text_free(&text);
}

static void table_row(struct ig_text *out, const struct kernel_bench *bench, size_t number) {
    const struct size *size = &bench->sizes[number];
    char text[48];
    bool by_bytes;
    double seconds = seconds_of(size), share = share_of(bench, size, &by_bytes);
    ig_text_printf(out, "<tr><td data-v=\"%u\">%s%s</td>", threads_of(size), group_text(size, text),
                   number == bench->best ? " <span class=\"good\">fastest</span>" : "");
    const uint64_t times[] = {size->times.median_ns, size->times.least_ns, size->times.most_ns};
    for (int t = 0; t < 3; t++) {
        page_number(out, (double)times[t], tool_seconds((double)times[t] * 1e-9, text));
    }
    const double amounts[] = {bench->bytes, bench->flops};
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%.2f", amounts[i] / seconds * 1e-9);
        page_number(out, amounts[i] / seconds, amounts[i] > 0 ? text : "");
    }
    snprintf(text, sizeof text, "%.0f%% of %s", 100 * share,
             by_bytes ? "copying" : "multiply-adds");
    page_number(out, share, share > 0 ? text : "");
    ig_text_puts(out, "</tr>\n");
}

static void page(const struct kernel_bench *bench, struct ig_text *out) {
    struct plot_time points[MOST_SIZES];
    char titles[MOST_SIZES][112], text[48], time[32];
    size_t count = 0;
    page_begin(out, "ingot bench");
    ig_text_puts(out, "<h1>");
    page_escape(out, bench->rest.items[1]);
    ig_text_puts(out, "</h1>\n<p class=\"dim\">");
    page_escape(out, bench->rest.items[0]);
    ig_text_printf(out, " on %s, ", bench->device);
    page_escape(out, bench->description);
    ig_text_puts(out, "</p>\n<h2>Time by threadgroup</h2>\n");
    for (size_t i = 0; i < bench->size_count; i++) {
        const struct size *size = &bench->sizes[i];
        if (size->times.launches) {
            snprintf(titles[count], sizeof titles[count], "%s threads: %s", group_text(size, text),
                     tool_seconds(seconds_of(size), time));
            points[count] = (struct plot_time){threads_of(size), seconds_of(size), titles[count]};
            count++;
        }
    }
    plot_times(points, count, out);
    if (bench->ceilings.flops_per_second > 0 && bench->flops > 0) {
        const struct size *best = &bench->sizes[bench->best];
        const struct plot_point point = {.name = bench->rest.items[1],
                                         .title = tool_seconds(seconds_of(best), time),
                                         .class_name = "t-f32",
                                         .bytes = bench->bytes,
                                         .flops = bench->flops,
                                         .seconds = seconds_of(best)};
        ig_text_puts(out, "<h2>Roofline</h2>\n");
        plot_roofline(&bench->ceilings, &point, 1, out);
    }
    ig_text_puts(out, "<h2>Every size</h2>\n<div class=\"scroll\"><table class=\"sort\"><thead><tr>"
                      "<th>threadgroup</th><th class=\"n\">median</th><th class=\"n\">best</th>"
                      "<th class=\"n\">worst</th><th class=\"n\">GB/s</th>"
                      "<th class=\"n\">GFLOP/s</th><th class=\"n\">ceiling</th></tr></thead>"
                      "<tbody>\n");
    for (size_t i = 0; i < bench->size_count; i++) {
        if (bench->sizes[i].times.launches) {
            table_row(out, bench, i);
        }
    }
    ig_text_puts(out, "</tbody></table></div>\n");
    struct ig_text rest = {0};
    left_out(bench, &rest);
    if (rest.size) {
        ig_text_puts(out, "<p class=\"dim\">");
        page_escape(out, ig_text_string(&rest));
        ig_text_puts(out, "</p>\n");
    }
    ig_text_free(&rest);
    page_end(out);
}

static int report(const struct kernel_bench *bench) {
    if (bench->json) {
        write_json(bench);
    } else {
        print_table(bench);
    }
    if (!bench->html) {
        return CLI_OK;
    }
    struct ig_text text = {0};
    page(bench, &text);
    bool written = cli_write_file(bench->html, &text);
    ig_text_free(&text);
    return written ? CLI_OK : CLI_FAILED;
}

/* ---- the command line ---- */

bool bench_is_kernel(int argc, char **argv) {
    for (int i = 0; i < argc; i++) { /* options may stand before it */
        const char *ending = argv[i][0] != '-' ? strrchr(argv[i], '.') : NULL;
        if (ending && (!strcmp(ending, ".metal") || !strcmp(ending, ".ingot") ||
                       !strcmp(ending, ".metallib"))) {
            return true;
        }
    }
    return false;
}

static int execute(const struct cli_command *command, struct kernel_bench *bench) {
    struct ig_error error = {0};
    if (bench->rest.count < 2) {
        return cli_usage_error(command, "expected FILE and KERNEL");
    }
    bench->has_grid = read_extent(&bench->rest, "--threads", "-t", bench->grid);
    bench->has_group = read_extent(&bench->rest, "--group", "-g", bench->group);
    if (!bench->has_grid && !bench->has_group) {
        return cli_usage_error(command, "expected --threads, so that sizes of threadgroups can be "
                                        "tried, or --threadgroups and --group");
    }
    if (bench->repeat == 0) {
        return cli_usage_error(command, "--repeat 0: expected a whole number from 1");
    }
    choose_sizes(bench);
    if (ig_folder_temporary(&bench->folder, &error)) {
        cli_error("%s", ig_error_text(&error));
        ig_error_clear(&error);
        return CLI_FAILED;
    }
    bench->errors = ig_arena_printf(&bench->arena, "%s/errors", bench->folder);
    bool good = bench->errors && measure(bench);
    ig_folder_remove(bench->folder);
    free(bench->folder);
    return good ? report(bench) : bench->status ? bench->status : CLI_FAILED;
}

int bench_kernel(const struct cli_command *command, int argc, char **argv) {
    struct kernel_bench bench = {.repeat = 20};
    const struct cli_option options[] = {
        {"html", 0, CLI_STRING, "FILE", "write a page", &bench.html},
        {"json", 0, CLI_FLAG, NULL, "print JSON", &bench.json},
        {"no-ceilings", 0, CLI_FLAG, NULL, "do not measure the machine's ceilings",
         &bench.no_ceilings},
        {"repeat", 0, CLI_COUNT, "N", "launches of each size (20)", &bench.repeat},
        {0},
    };
    struct cli_list positionals = {0};
    char **own = calloc((size_t)argc + 1, sizeof *own);
    int own_count = 0, status = CLI_FAILED;
    bool is_program;
    if (own && cli_split(options, argc, argv, own, &own_count, &bench.rest, &is_program) &&
        cli_parse(command, options, own_count, own, &positionals, &status)) {
        status = execute(command, &bench);
    }
    free(own);
    cli_list_free(&bench.rest);
    cli_list_free(&positionals);
    ig_profile_free(&bench.profile);
    ig_arena_free(&bench.arena);
    return status;
}
