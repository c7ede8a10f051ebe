/* The page of `ingot profile`: kernels under the roofline, and for each its hints and its source
 * with a column of heat and the counters of every line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page.h"
#include "cli/profile.h"

enum { MOST_POINTS = 64, MOST_OPEN = 3, AROUND = 3, MOST_GAP = 8 };

static const char *grouped(double value, char out[32]) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", value);
    size_t length = strlen(digits), to = 0;
    for (size_t i = 0; i < length && to + 4 < 32; i++) {
        if (i && (length - i) % 3 == 0) {
            memcpy(out + to, "\xe2\x80\x89", 3); /* a thin space */
            to += 3;
        }
        if (to + 4 < 32) {
            out[to++] = digits[i];
        }
    }
    out[to] = '\0';
    return out;
}

static void mean_cell(struct ig_text *out, double sum, double count) {
    char text[32] = "";
    double mean = count > 0 ? sum / count : 0;
    if (sum > 0) {
        snprintf(text, sizeof text, mean == floor(mean) ? "%.0f" : "%.1f", mean);
    }
    page_number(out, mean, text);
}

static void count_cell(struct ig_text *out, double value) {
    char text[32];
    page_number(out, value, value > 0 ? grouped(value, text) : "");
}

/* ---- kernels ---- */

static void describe(struct ig_text *out, const struct profile_kernel *kernel) {
    char time[32];
    ig_text_printf(out, "%s\n%s a launch, %.1f GB/s, %.1f GFLOP/s, %.2g operations per byte",
                   kernel->times->name, tool_seconds(kernel->seconds, time),
                   kernel->bytes / kernel->seconds * 1e-9, kernel->flops / kernel->seconds * 1e-9,
                   kernel->flops / kernel->bytes);
}

static void roofline(struct profile_report *report, size_t device, struct ig_text *out) {
    struct plot_point points[MOST_POINTS];
    struct ig_text titles[MOST_POINTS] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < report->kernel_count && count < MOST_POINTS; i++) {
        const struct profile_kernel *kernel = &report->kernels[i];
        if (kernel->ceilings != &report->devices[device].ceilings || !(kernel->seconds > 0) ||
            !(kernel->flops > 0) || !(kernel->bytes > 0)) {
            continue;
        }
        describe(&titles[count], kernel);
        points[count] = (struct plot_point){.name = kernel->times->name,
                                            .title = ig_text_string(&titles[count]),
                                            .class_name = "t-f32",
                                            .bytes = kernel->bytes,
                                            .flops = kernel->flops,
                                            .seconds = kernel->seconds};
        count++;
    }
    if (count) {
        const struct igh_ceilings *ceilings = &report->devices[device].ceilings;
        ig_text_puts(out, "<h2>Roofline of ");
        page_escape(out, report->devices[device].name);
        ig_text_printf(
            out,
            "</h2>\n<p class=\"dim\">This machine copies %.1f GB/s and does %.0f GFLOP/s "
            "of float32 multiply-adds. A kernel under the slope is limited by memory, "
            "under the roof by arithmetic.</p>\n",
            ceilings->bytes_per_second * 1e-9, ceilings->flops_per_second * 1e-9);
        plot_roofline(ceilings, points, count, out);
    }
    for (size_t i = 0; i < count; i++) {
        ig_text_free(&titles[i]);
    }
}

static void kernel_row(struct ig_text *out, const struct profile_report *report, size_t number) {
    const struct profile_kernel *kernel = &report->kernels[number];
    char text[32];
    double share = report->total > 0 ? kernel->total / report->total : 0;
    ig_text_printf(out, "<tr><td><a href=\"#kernel-%zu\">", number);
    page_escape(out, kernel->times->name);
    ig_text_puts(out, "</a></td>");
    count_cell(out, (double)kernel->times->launches);
    page_number(out, kernel->total, tool_seconds(kernel->total, text));
    ig_text_printf(out,
                   "<td data-v=\"%.6f\"><span class=\"bar\"><i style=\"width:%.0f%%\"></i></span>"
                   "%.0f%%</td>",
                   share, 100 * share, 100 * share);
    page_number(out, kernel->seconds, tool_seconds(kernel->seconds, text));
    const double amounts[] = {kernel->bytes, kernel->flops};
    for (int i = 0; i < 2; i++) {
        double rate = kernel->seconds > 0 ? amounts[i] / kernel->seconds * 1e-9 : 0;
        snprintf(text, sizeof text, rate < 10 ? "%.2f" : "%.1f", rate);
        page_number(out, rate, rate > 0 ? text : "");
    }
    snprintf(text, sizeof text, "%.2g", kernel->bytes > 0 ? kernel->flops / kernel->bytes : 0);
    page_number(out, kernel->bytes > 0 ? kernel->flops / kernel->bytes : 0,
                kernel->bytes > 0 ? text : "");
    snprintf(text, sizeof text, "%.0f%% of %s", 100 * kernel->share,
             kernel->by_bytes ? "copying" : "multiply-adds");
    page_number(out, kernel->share, kernel->share > 0 ? text : "");
    count_cell(out, (double)kernel->hint_count);
    ig_text_puts(out, "</tr>\n");
}

static void kernel_table(struct ig_text *out, const struct profile_report *report) {
    ig_text_puts(out, "<h2>Kernels</h2>\n<div class=\"scroll\"><table class=\"sort kernels\">"
                      "<thead><tr><th>kernel</th><th class=\"n\">launches</th>"
                      "<th class=\"n\">total</th><th>share</th><th class=\"n\">a launch</th>"
                      "<th class=\"n\">GB/s</th><th class=\"n\">GFLOP/s</th>"
                      "<th class=\"n\">flops/byte</th><th class=\"n\">roofline</th>"
                      "<th class=\"n\">hints</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < report->kernel_count; i++) {
        kernel_row(out, report, i);
    }
    ig_text_puts(out, "</tbody></table></div>\n");
}

/* ---- the source ---- */

/* Counters of a line: as they are, or divided by another. */
static const struct column {
    const char *title;
    enum ig_counter counter, by;
} columns[] = {
    {"runs", IG_COUNTER_executed, IG_COUNTER_executed},
    {"lanes", IG_COUNTER_lanes, IG_COUNTER_executed},
    {"flops", IG_COUNTER_flops, IG_COUNTER_flops},
    {"accesses", IG_COUNTER_device_accesses, IG_COUNTER_device_accesses},
    {"bytes each", IG_COUNTER_device_bytes, IG_COUNTER_device_accesses},
    {"cache lines each", IG_COUNTER_device_lines, IG_COUNTER_device_accesses},
    {"threadgroup", IG_COUNTER_threadgroup_accesses, IG_COUNTER_threadgroup_accesses},
    {"passes each", IG_COUNTER_bank_passes, IG_COUNTER_threadgroup_accesses},
    {"bank conflicts", IG_COUNTER_bank_conflicts, IG_COUNTER_bank_conflicts},
    {"atomics", IG_COUNTER_atomics, IG_COUNTER_atomics},
    {"collisions", IG_COUNTER_atomic_collisions, IG_COUNTER_atomic_collisions},
    {"barriers", IG_COUNTER_barriers, IG_COUNTER_barriers},
    {"waits", IG_COUNTER_barrier_waits, IG_COUNTER_barrier_waits},
    {"private", IG_COUNTER_private_accesses, IG_COUNTER_private_accesses},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

struct view {
    struct profile_report *report;
    const struct profile_kernel *kernel;
    size_t number; /* of the kernel */
    bool shown[COLUMN_COUNT];
    double steps, most; /* of the kernel, and of its hottest line */
};

/* `index`: of the line among the kernel's; negative: it was not counted. */
static void source_row(struct ig_text *out, const struct view *view, const char *file,
                       uint32_t number, long index) {
    static const uint64_t nothing[IG_COUNTER_COUNT];
    const uint64_t *counts = index >= 0 ? view->kernel->counted->lines[index].counts : nothing;
    double steps = profile_steps(counts);
    ig_text_printf(out, "<tr%s", view->most > 0 && steps > view->most / 2 ? " class=\"hot\"" : "");
    if (index >= 0) {
        ig_text_printf(out, " id=\"kernel-%zu-%ld\"", view->number, index);
    }
    ig_text_printf(out, "><td class=\"no\" data-v=\"%u\">%u</td><td class=\"heat\" data-v=\"%.0f\"",
                   number, number, steps);
    if (steps > 0) {
        ig_text_printf(
            out, " title=\"%.1f%% of the kernel's steps\"><i style=\"width:%.0f%%\"></i></td>",
            100 * steps / view->steps, fmax(2, 100 * steps / view->most));
    } else {
        ig_text_puts(out, "></td>");
    }
    const char *source = profile_source(view->report, file, number);
    ig_text_puts(out, "<td class=\"src\" title=\"");
    page_escape(out, source + strspn(source, " \t"));
    ig_text_puts(out, "\">");
    page_escape(out, source);
    ig_text_puts(out, "</td>");
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (!view->shown[c]) {
            continue;
        }
        double value = (double)counts[columns[c].counter];
        if (columns[c].by == columns[c].counter) {
            count_cell(out, value);
        } else {
            mean_cell(out, value, (double)counts[columns[c].by]);
        }
    }
    ig_text_puts(out, "</tr>\n");
}

/* The counted lines of one file, and what is around them. */
static void source_rows(struct ig_text *out, const struct view *view,
                        const struct profile_file *part) {
    const struct ig_profile_line *lines = view->kernel->counted->lines;
    const char *file = lines[part->first].file;
    uint32_t next = 0;
    for (size_t i = part->first; i < part->end; i++) {
        uint32_t line = lines[i].line, from = line > AROUND ? line - AROUND : 1;
        if (next && line - next < MOST_GAP) {
            from = next;
        } else if (next) {
            ig_text_printf(out, "<tr class=\"gap\"><td class=\"no\" data-v=\"%u.5\">⋮</td></tr>\n",
                           next);
        }
        for (uint32_t number = from; number < line; number++) {
            source_row(out, view, file, number, -1);
        }
        source_row(out, view, file, line, (long)i);
        next = line + 1;
    }
    for (uint32_t number = next; number < next + 2; number++) {
        if (*profile_source(view->report, file, number)) {
            source_row(out, view, file, number, -1);
        }
    }
}

static void source_table(struct ig_text *out, struct view *view) {
    const struct ig_profile_kernel *counted = view->kernel->counted;
    struct profile_file files[PROFILE_MOST_FILES];
    size_t file_count = profile_files(view->kernel, files);
    view->steps = profile_kernel_steps(view->kernel);
    for (size_t i = 0; i < counted->line_count; i++) {
        view->most = fmax(view->most, profile_steps(counted->lines[i].counts));
        for (int c = 0; c < COLUMN_COUNT; c++) {
            view->shown[c] |= counted->lines[i].counts[columns[c].counter] > 0;
        }
    }
    for (size_t f = 0; f < file_count; f++) {
        const char *file = counted->lines[files[f].first].file;
        ig_text_puts(out, "<p class=\"dim\">");
        page_escape(out, *file ? file : "(no source)");
        ig_text_puts(out, "</p>\n<div class=\"scroll\"><table class=\"sort code\"><thead><tr>"
                          "<th class=\"n\">line</th><th>heat</th><th>source</th>");
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (view->shown[c]) {
                ig_text_puts(out, "<th class=\"n\" title=\"");
                page_escape(out, ig_counters[columns[c].counter].about);
                ig_text_printf(out, "%s\">%s</th>",
                               columns[c].by == columns[c].counter ? "" : ", on average",
                               columns[c].title);
            }
        }
        ig_text_puts(out, "</tr></thead><tbody>\n");
        source_rows(out, view, &files[f]);
        ig_text_puts(out, "</tbody></table></div>\n");
    }
}

static void hints(struct ig_text *out, const struct profile_kernel *kernel, size_t number) {
    if (!kernel->hint_count) {
        return;
    }
    ig_text_puts(out, "<ul class=\"hints\">\n");
    for (size_t i = 0; i < kernel->hint_count; i++) {
        const struct profile_hint *hint = &kernel->hints[i];
        ig_text_puts(out, "<li>");
        if (hint->line) {
            ig_text_printf(out, "<a href=\"#kernel-%zu-%zu\">", number, hint->index);
        }
        page_escape(out, hint->text);
        ig_text_puts(out, hint->line ? "</a></li>\n" : "</li>\n");
    }
    ig_text_puts(out, "</ul>\n");
}

static void kernel_section(struct ig_text *out, struct profile_report *report, size_t number) {
    const struct profile_kernel *kernel = &report->kernels[number];
    const struct ig_profile_kernel *times = kernel->times;
    char read[32], written[32];
    ig_text_printf(out, "<details id=\"kernel-%zu\"%s><summary><b>", number,
                   number < MOST_OPEN ? " open" : "");
    page_escape(out, times->name);
    ig_text_puts(out, "</b> <span class=\"dim\">");
    if (*times->values) {
        ig_text_puts(out, "with ");
        page_escape(out, times->values);
        ig_text_puts(out, ", ");
    }
    ig_text_printf(out, "on %s, threadgroups of %u×%u×%u", times->device, times->group[0],
                   times->group[1], times->group[2]);
    if (kernel->counted) {
        ig_text_printf(
            out, "; a launch reads %s and writes %s that had to move",
            cli_bytes(kernel->counted->bytes_read / kernel->counted->counted, read),
            cli_bytes(kernel->counted->bytes_written / kernel->counted->counted, written));
    }
    ig_text_puts(out, "</span></summary>\n");
    hints(out, kernel, number);
    if (kernel->counted && kernel->counted->line_count) {
        struct view view = {.report = report, .kernel = kernel, .number = number};
        source_table(out, &view);
    } else {
        ig_text_puts(out, "<p class=\"dim\">Not counted: counters are for CPU devices.</p>\n");
    }
    ig_text_puts(out, "</details>\n");
}

/* ---- the page ---- */

static void cards(struct ig_text *out, const struct profile_report *report) {
    char text[32];
    uint64_t launches = 0, moves = 0, ns = 0;
    for (size_t i = 0; i < report->kernel_count; i++) {
        launches += report->kernels[i].times->launches;
    }
    for (int i = 0; i < IG_MOVE_COUNT; i++) {
        moves += report->times.moves[i].count;
        ns += report->times.moves[i].ns;
    }
    ig_text_puts(out, "<div class=\"cards\">\n");
    page_card(out, tool_seconds(report->total, text), "in kernels", "");
    snprintf(text, sizeof text, "%zu", report->kernel_count);
    page_card(out, text, strcmp(text, "1") ? "kernels" : "kernel", "");
    page_card(out, grouped((double)launches, text), launches == 1 ? "launch" : "launches", "");
    if (moves) {
        char name[64];
        snprintf(name, sizeof name, "in %llu copies and fills", (unsigned long long)moves);
        page_card(out, tool_seconds((double)ns * 1e-9, text), name, "");
    }
    if (report->times.compilations) {
        char name[64];
        snprintf(name, sizeof name, "in %llu compilation%s",
                 (unsigned long long)report->times.compilations,
                 report->times.compilations == 1 ? "" : "s");
        page_card(out, tool_seconds((double)report->times.compile_ns * 1e-9, text), name, "");
    }
    ig_text_puts(out, "</div>\n");
}

void profile_html(struct profile_report *report, struct ig_text *out) {
    page_begin(out, "ingot profile");
    ig_text_puts(out, "<h1>ingot profile</h1>\n<p><code>");
    page_escape(out, report->command);
    ig_text_printf(out, "</code></p>\n<p class=\"dim\">ingot %s, %s", ingot_version(),
                   report->date);
    if (report->times.description) {
        ig_text_puts(out, ", ");
        page_escape(out, report->times.description);
    }
    ig_text_puts(out, "</p>\n");
    cards(out, report);
    for (size_t i = 0; i < report->device_count; i++) {
        roofline(report, i, out);
    }
    kernel_table(out, report);
    ig_text_puts(out, "<h2>Lines</h2>\n<p class=\"dim\">Heat is a line's share of the steps: runs "
                      "of lines, cache lines of 128 bytes that are touched, passes over the 32 "
                      "banks of threadgroup memory. Figures are those of SIMD-groups of 32 lanes, "
                      "over all launches that were counted.</p>\n");
    for (size_t i = 0; i < report->kernel_count; i++) {
        kernel_section(out, report, i);
    }
    page_end(out);
}
