/* The report of `ingot profile` on a terminal: a table of kernels, then their lines and hints. */
#include <string.h>

#include "cli/profile.h"

enum { COLUMNS = 100, MOST_SHOWN = 3 };

/* 1234567 → "1.23M" */
static const char *short_number(double value, char out[16]) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    size_t unit = 0;
    while (value >= 9999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    snprintf(out, 16, unit && value < 99.95 ? "%.1f%s" : "%.0f%s", value, units[unit]);
    return out;
}

static void print_rate(double amount, double seconds) {
    double rate = seconds > 0 ? amount / seconds * 1e-9 : 0;
    if (rate > 0) {
        printf(rate < 10 ? " %8.2f" : " %8.0f", rate);
    } else {
        printf(" %8s", "");
    }
}

static void print_kernels(const struct profile_report *report) {
    char text[32];
    printf("%s%-28s %9s %10s %10s %5s %8s %8s %9s%s\n", cli_dim(stdout), "kernel", "launches",
           "total", "launch", "share", "GB/s", "GFLOP/s", "roofline", cli_plain(stdout));
    for (size_t i = 0; i < report->kernel_count; i++) {
        const struct profile_kernel *kernel = &report->kernels[i];
        printf("%-28.28s %9llu ", kernel->times->name, (unsigned long long)kernel->times->launches);
        tool_print(stdout, -10, tool_seconds(kernel->total, text));
        printf(" ");
        tool_print(stdout, -10, tool_seconds(kernel->seconds, text));
        printf(" %4.0f%%", report->total > 0 ? 100 * kernel->total / report->total : 0);
        print_rate(kernel->bytes, kernel->seconds);
        print_rate(kernel->flops, kernel->seconds);
        if (kernel->share > 0) {
            printf(" %3.0f%% %s", 100 * kernel->share, kernel->by_bytes ? "copy" : "fma");
        }
        printf("%s\n", kernel->is_slow ? "  (with counters)" : "");
    }
}

static void print_rest(const struct profile_report *report) {
    char bytes[32], time[32];
    for (int i = 0; i < IG_MOVE_COUNT; i++) {
        if (report->times.moves[i].count) {
            printf("%-28s %9llu %11s  %s\n", ig_move_name(i),
                   (unsigned long long)report->times.moves[i].count,
                   tool_seconds((double)report->times.moves[i].ns * 1e-9, time),
                   cli_bytes(report->times.moves[i].bytes, bytes));
        }
    }
    if (report->times.compilations) {
        printf("%-28s %9llu %11s\n", "compilations", (unsigned long long)report->times.compilations,
               tool_seconds((double)report->times.compile_ns * 1e-9, time));
    }
}

/* ---- lines ---- */

/* A column of the table of lines: shown where a line has something to say. */
struct column {
    const char *title;
    int width;
    enum ig_counter counter; /* 0 is not shown, */
    enum ig_counter by;      /* and divided by this one, unless it is the same */
};

static const struct column columns[] = {
    {"runs", 7, IG_COUNTER_executed, IG_COUNTER_executed},
    {"lanes", 5, IG_COUNTER_lanes, IG_COUNTER_executed},
    {"flops", 7, IG_COUNTER_flops, IG_COUNTER_flops},
    {"loads+", 7, IG_COUNTER_device_accesses, IG_COUNTER_device_accesses},
    {"bytes/", 6, IG_COUNTER_device_bytes, IG_COUNTER_device_accesses},
    {"lines/", 6, IG_COUNTER_device_lines, IG_COUNTER_device_accesses},
    {"tg", 7, IG_COUNTER_threadgroup_accesses, IG_COUNTER_threadgroup_accesses},
    {"passes/", 7, IG_COUNTER_bank_passes, IG_COUNTER_threadgroup_accesses},
    {"atomics", 7, IG_COUNTER_atomics, IG_COUNTER_atomics},
    {"collide", 7, IG_COUNTER_atomic_collisions, IG_COUNTER_atomic_collisions},
    {"barrier", 7, IG_COUNTER_barriers, IG_COUNTER_barriers},
    {"waits", 6, IG_COUNTER_barrier_waits, IG_COUNTER_barrier_waits},
    {"private", 7, IG_COUNTER_private_accesses, IG_COUNTER_private_accesses},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static void print_number(const struct column *column, const uint64_t *counts) {
    char text[16];
    double value = (double)counts[column->counter];
    bool is_mean = column->by != column->counter;
    if (value == 0) {
        printf(" %*s", column->width, "");
    } else if (is_mean) {
        value = counts[column->by] ? value / (double)counts[column->by] : 0;
        snprintf(text, sizeof text,
                 value < 99.95 && value != (double)(uint64_t)value ? "%.1f" : "%.0f", value);
        printf(" %*s", column->width, text);
    } else {
        printf(" %*s", column->width, short_number(value, text));
    }
}

static void print_source(const char *source, int room) {
    source += strspn(source, " \t");
    size_t length = strcspn(source, "\n"), most = room > 8 ? (size_t)room : 8;
    bool is_cut = length > most;
    printf("  %s%.*s%s%s\n", cli_dim(stdout), (int)(is_cut ? most - 1 : length), source,
           is_cut ? "…" : "", cli_plain(stdout));
}

/* Columns that fit beside each other: [first, end) of the table, those that are shown. */
struct part {
    int first, end, used;
    bool shown[COLUMN_COUNT];
};

/* From part->end on; at least one, and false where none is left. */
static bool next_part(struct part *part) {
    enum { LEAST_SOURCE = 24 };
    part->first = part->end;
    part->used = 6;
    bool any = false;
    for (int c = part->first; c < COLUMN_COUNT; c++) {
        int width = part->shown[c] ? columns[c].width + 1 : 0;
        if (any && part->used + width + 2 + LEAST_SOURCE > COLUMNS) {
            break;
        }
        part->used += width;
        any |= part->shown[c];
        part->end = c + 1;
    }
    return any;
}

static void print_line(struct profile_report *report, const struct ig_profile_line *line,
                       const struct part *part) {
    bool any = part->first == 0;
    for (int c = part->first; c < part->end; c++) {
        any |= part->shown[c] && line->counts[columns[c].counter] > 0;
    }
    if (!any) {
        return;
    }
    printf("%6u", line->line);
    for (int c = part->first; c < part->end; c++) {
        if (part->shown[c]) {
            print_number(&columns[c], line->counts);
        }
    }
    print_source(profile_source(report, line->file, line->line), COLUMNS - part->used - 2);
}

static void print_file(struct profile_report *report, const struct ig_profile_kernel *counted,
                       const struct profile_file *lines, const struct part *part) {
    const char *file = counted->lines[lines->first].file;
    size_t length = strlen(file), room = (size_t)(COLUMNS - part->used - 2);
    bool is_cut = length > room;
    printf("\n%s%6s", cli_dim(stdout), "line");
    for (int c = part->first; c < part->end; c++) {
        if (part->shown[c]) {
            printf(" %*s", columns[c].width, columns[c].title);
        }
    }
    printf("  %s%s%s\n", is_cut ? "…" : "",
           *file ? file + (is_cut ? length - room + 1 : 0) : "(no source)", cli_plain(stdout));
    for (size_t i = lines->first; i < lines->end; i++) {
        if (profile_has_counts(&counted->lines[i])) {
            print_line(report, &counted->lines[i], part);
        }
    }
}

/* What does not fit beside the source is a table of its own, below. */
static void print_lines(struct profile_report *report, const struct profile_kernel *kernel) {
    const struct ig_profile_kernel *counted = kernel->counted;
    struct profile_file files[PROFILE_MOST_FILES];
    size_t count = profile_files(kernel, files);
    for (size_t f = 0; f < count && files[f].steps > 0; f++) {
        struct part part = {0};
        for (size_t i = files[f].first; i < files[f].end; i++) {
            for (int c = 0; c < COLUMN_COUNT; c++) {
                part.shown[c] |= counted->lines[i].counts[columns[c].counter] > 0;
            }
        }
        while (next_part(&part)) {
            print_file(report, counted, &files[f], &part);
        }
    }
}

static void print_kernel(struct profile_report *report, const struct profile_kernel *kernel) {
    char moved[32], read[32];
    const struct ig_profile_kernel *counted = kernel->counted;
    printf("\n%s%s%s%s%s", cli_bold(stdout), kernel->times->name, cli_plain(stdout),
           *kernel->times->values ? " with " : "", kernel->times->values);
    if (!counted) {
        printf(": not counted (%s)\n",
               !kernel->times->can_be_counted ? "counters are for CPU devices"
               : report->is_times             ? "--times asks for times only"
               : report->has_failed           ? "the program failed: --counters runs it with them"
                                              : "the run with counters did not launch it");
        return;
    }
    printf(": a launch reads %s and writes %s that had to move, and asks for %.3g times that\n",
           cli_bytes(counted->bytes_read / counted->counted, read),
           cli_bytes(counted->bytes_written / counted->counted, moved),
           kernel->bytes > 0 ? kernel->asked / kernel->bytes : 0);
    print_lines(report, kernel);
    if (kernel->hint_count) {
        printf("\n");
    }
    for (size_t i = 0; i < kernel->hint_count; i++) {
        printf("%shint:%s %s\n", cli_yellow(stdout), cli_plain(stdout), kernel->hints[i].text);
    }
}

void profile_text(struct profile_report *report, bool all, FILE *out) {
    (void)out;
    printf("%s%s%s", cli_bold(stdout), report->command, cli_plain(stdout));
    for (size_t i = 0; i < report->device_count; i++) {
        printf("%s %s copies %.1f GB/s and does %.0f GFLOP/s of multiply-adds", i ? ";" : ":",
               report->devices[i].name, report->devices[i].ceilings.bytes_per_second * 1e-9,
               report->devices[i].ceilings.flops_per_second * 1e-9);
    }
    printf("\n\n");
    print_kernels(report);
    print_rest(report);
    size_t shown = 0;
    for (size_t i = 0; i < report->kernel_count && (all || shown < MOST_SHOWN); i++, shown++) {
        print_kernel(report, &report->kernels[i]);
    }
    if (shown < report->kernel_count) {
        printf("\n%zu more kernels: --all shows their lines, --html all of them on a page\n",
               report->kernel_count - shown);
    }
}
