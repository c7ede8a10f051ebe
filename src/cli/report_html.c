/* The page of `ingot health`, and the part of it about speed, which `ingot bench` shows too. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cli/health.h"
#include "cli/page.h"

static const char *worst_text(double worst, char out[32]) {
    if (isfinite(worst)) {
        snprintf(out, 32, "%.3f", worst);
    } else {
        snprintf(out, 32, "over");
    }
    return out;
}

static const char *yes_or_no(size_t tried, size_t bad) {
    return bad ? "<td class=\"bad\">no</td>" : tried ? "<td>yes</td>" : "<td class=\"dim\">–</td>";
}

/* ---- checks ---- */

static void operation_row(struct ig_text *out, const struct health_summary *s) {
    char text[64], types[64] = "";
    for (int type = INGOT_SCALAR_F32; type > INGOT_SCALAR_NONE; type--) {
        if (s->types >> type & 1 && strlen(types) + 8 < sizeof types) {
            strcat(types, *types ? " " : "");
            strcat(types, ig_scalar_name((ingot_scalar_type)type));
        }
    }
    ig_text_printf(out, "<tr%s>", s->failed ? " class=\"failed\"" : "");
    page_cell(out, s->operation);
    ig_text_puts(out, s->failed ? "<td class=\"bad\">failed</td>" : "<td class=\"good\">ok</td>");
    ig_text_printf(out, "<td class=\"types\">%s</td>", types);
    snprintf(text, sizeof text, "%zu", s->end - s->first);
    page_number(out, (double)(s->end - s->first), text);
    snprintf(text, sizeof text, "%zu", s->failed);
    page_number(out, (double)s->failed, text);
    page_number(out, s->worst, worst_text(s->worst, text));
    ig_text_puts(out, yes_or_no(s->repeated, s->differing));
    ig_text_puts(out, yes_or_no(s->specials, s->specials_failed));
    ig_text_puts(out, yes_or_no(s->empty, s->empty_failed));
    page_number(out, s->seconds, tool_seconds(s->seconds, text));
    ig_text_puts(out, "</tr>\n");
}

static void case_row(struct ig_text *out, const struct health_case *c) {
    char text[64];
    const struct igh_metric *worst = c->result.worst;
    ig_text_printf(out, "<tr%s>", c->result.passed ? "" : " class=\"failed\"");
    page_cell(out, ig_scalar_name(c->row.type));
    page_cell(out, c->row.test->name);
    ig_text_puts(out,
                 c->result.passed ? "<td class=\"good\">ok</td>" : "<td class=\"bad\">failed</td>");
    page_number(out, health_severity(worst), worst_text(health_severity(worst), text));
    page_cell(out, worst ? worst->name : "");
    page_number(out, c->result.seconds, tool_seconds(c->result.seconds, text));
    ig_text_puts(out, "<td class=\"key\">");
    page_escape(out, c->result.variant);
    ig_text_puts(out, "</td></tr>\n");
}

static void failures(struct ig_text *out, const struct health_device *device) {
    char name[160];
    if (!device->failed) {
        return;
    }
    ig_text_puts(out, "<h3 class=\"bad\">Failures</h3>\n");
    for (size_t i = 0; i < device->case_count; i++) {
        const struct health_case *c = &device->cases[i];
        if (c->result.passed) {
            continue;
        }
        ig_text_puts(out, "<pre class=\"failure\"><b>");
        page_escape(out, tool_row_name(&c->row, name));
        ig_text_puts(out, "</b>\n");
        page_escape(out, c->result.message);
        ig_text_puts(out, "\n");
        page_escape(out, c->result.variant);
        ig_text_puts(out, *c->result.launch ? ", " : "");
        page_escape(out, c->result.launch);
        ig_text_puts(out, "</pre>\n");
    }
}

static void operations(struct ig_text *out, const struct health_device *device, size_t number) {
    struct health_summary summary = {0};
    ig_text_printf(
        out,
        "<h3>Operations</h3>\n<input data-for=\"operations-%zu\" aria-label=\"filter "
        "operations\" placeholder=\"filter\">\n<div class=\"scroll\"><table class=\"sort "
        "operations\" id=\"operations-%zu\"><thead><tr><th>operation</th><th>result</th>"
        "<th>types</th><th class=\"n\">cases</th><th class=\"n\">failed</th>"
        "<th class=\"n\">worst error / bound</th><th>deterministic</th><th>NaN, Inf</th>"
        "<th>empty</th><th class=\"n\">time</th></tr></thead><tbody>\n",
        number, number);
    while (health_summarise(device, summary.end, &summary)) {
        operation_row(out, &summary);
    }
    ig_text_puts(out, "</tbody></table></div>\n");
}

static void cases(struct ig_text *out, const struct health_device *device) {
    struct health_summary summary = {0};
    ig_text_puts(out, "<h3>Every case</h3>\n");
    while (health_summarise(device, summary.end, &summary)) {
        ig_text_printf(out, "<details%s><summary>", summary.failed ? " open" : "");
        page_escape(out, summary.operation);
        ig_text_printf(out,
                       " <span class=\"%s\">%zu of %zu</span></summary><div class=\"scroll\">"
                       "<table class=\"sort cases\"><thead><tr><th>type</th><th>case</th>"
                       "<th>result</th><th class=\"n\">error / bound</th><th>worst of</th>"
                       "<th class=\"n\">time</th><th>variant</th></tr></thead><tbody>\n",
                       summary.failed ? "bad" : "good",
                       summary.end - summary.first - summary.failed, summary.end - summary.first);
        for (size_t i = summary.first; i < summary.end; i++) {
            case_row(out, &device->cases[i]);
        }
        ig_text_puts(out, "</tbody></table></div></details>\n");
    }
}

/* ---- speed ---- */

static void rate_cell(struct ig_text *out, double amount, double seconds) {
    char text[32] = "";
    double rate = amount / seconds * 1e-9;
    if (amount > 0) {
        snprintf(text, sizeof text, rate < 10 ? "%.2f" : "%.1f", rate);
    }
    page_number(out, rate, text);
}

static void bench_table_row(struct ig_text *out, const struct bench_row *row) {
    char text[32];
    const struct igh_timing *timing = &row->timing;
    ig_text_puts(out, "<tr>");
    page_cell(out, row->row.suite->operation);
    page_cell(out, ig_scalar_name(row->row.type));
    page_cell(out, row->row.test->name);
    if (*row->error) {
        ig_text_puts(out, "<td class=\"bad\" colspan=\"6\">");
        page_escape(out, row->error);
        ig_text_puts(out, "</td></tr>\n");
        return;
    }
    page_number(out, timing->median, tool_seconds(timing->median, text));
    double spread = timing->median > 0 ? (timing->p90 - timing->p10) / timing->median : 0;
    snprintf(text, sizeof text, "%.0f%%", spread * 100);
    page_number(out, spread, text);
    rate_cell(out, row->bytes, timing->median);
    rate_cell(out, row->flops, timing->median);
    ig_text_printf(out,
                   "<td data-v=\"%.6f\"><span class=\"bar\"><i style=\"width:%.0f%%\"></i></span>"
                   "%.0f%% %s</td><td class=\"key\">",
                   row->share, fmin(100, row->share * 100), row->share * 100,
                   row->share <= 0 ? ""
                   : row->by_bytes ? "copy"
                                   : "fma");
    page_escape(out, row->variant);
    ig_text_puts(out, "</td></tr>\n");
}

void health_speed(const struct health_device *device, size_t number, struct ig_text *out) {
    if (!device->bench_count) {
        return;
    }
    if (device->bench_count < device->bench_rows) {
        ig_text_printf(
            out,
            "<h3>Speed</h3>\n<p class=\"dim\">A quick look at %zu of %zu rows, on inputs "
            "that rotate past the cache; <code>ingot bench</code> measures all of them, "
            "and longer.",
            device->bench_count, device->bench_rows);
    } else {
        ig_text_printf(out,
                       "<h3>Speed</h3>\n<p class=\"dim\">%zu rows, on inputs that rotate past the "
                       "cache.",
                       device->bench_count);
    }
    if (device->ceilings.bytes_per_second > 0) {
        ig_text_printf(out,
                       " This machine copies %.1f GB/s and does %.0f GFLOP/s of float32 "
                       "multiply-adds.</p>\n<h3>Roofline</h3>\n",
                       device->ceilings.bytes_per_second * 1e-9,
                       device->ceilings.flops_per_second * 1e-9);
    } else {
        ig_text_puts(out, "</p>\n");
    }
    health_roofline(device, out);
    ig_text_puts(out, "<h3>Share of the ceiling</h3>\n");
    health_bars(device, out);
    ig_text_printf(out,
                   "<h3>Every row that was measured</h3>\n<input data-for=\"bench-%zu\" "
                   "aria-label=\"filter rows\" "
                   "placeholder=\"filter\">\n<div class=\"scroll\"><table class=\"sort bench\" "
                   "id=\"bench-%zu\"><thead><tr><th>operation</th><th>type</th><th>case</th>"
                   "<th class=\"n\">median</th><th class=\"n\">spread</th><th class=\"n\">GB/s</th>"
                   "<th class=\"n\">GFLOP/s</th><th>ceiling</th><th>variant</th></tr></thead>"
                   "<tbody>\n",
                   number, number);
    for (size_t i = 0; i < device->bench_count; i++) {
        bench_table_row(out, &device->bench[i]);
    }
    ig_text_puts(out, "</tbody></table></div>\n");
}

/* ---- the page ---- */

static void device_section(struct ig_text *out, const struct health_device *device, size_t number) {
    char text[64];
    size_t count = 0;
    struct health_summary summary = {0};
    while (health_summarise(device, summary.end, &summary)) {
        count++;
    }
    ig_text_puts(out, "<section class=\"device\"><h2>");
    page_escape(out, device->info.name);
    ig_text_puts(out, "</h2>\n<p class=\"dim\">");
    page_escape(out, device->info.description);
    ig_text_puts(out, ", ");
    page_escape(out, device->info.target);
    ig_text_puts(out, "</p>\n<div class=\"cards\">\n");
    snprintf(text, sizeof text, "%zu", count);
    page_card(out, text, "operations", "");
    snprintf(text, sizeof text, "%zu", device->case_count - device->failed);
    page_card(out, text, "cases passed", "good");
    snprintf(text, sizeof text, "%zu", device->failed);
    page_card(out, text, "cases failed", device->failed ? "bad" : "");
    snprintf(text, sizeof text, "%.0f s", device->seconds);
    page_card(out, text, "for the checks", "");
    ig_text_puts(out, "</div>\n");
    failures(out, device);
    operations(out, device, number);
    health_speed(device, number, out);
    cases(out, device);
    ig_text_puts(out, "</section>\n");
}

void health_html(const struct health_report *report, struct ig_text *out) {
    page_begin(out, "ingot health");
    ig_text_printf(out,
                   "<h1>ingot health<span class=\"pill %s\" "
                   "id=\"verdict\">%s</span></h1>\n<p class=\"dim\">ingot %s, %s. <span "
                   "id=\"passed\">%zu</span> passed, <span id=\"failed\">%zu</span> failed.</p>\n",
                   report->failed ? "bad" : "good", report->failed ? "failing" : "healthy",
                   ingot_version(), report->date, report->passed, report->failed);
    for (size_t i = 0; i < report->uncovered.count; i++) {
        ig_text_puts(out, "<p class=\"bad\">");
        page_escape(out, report->uncovered.items[i]);
        ig_text_puts(out, " has no cases: nothing checks it.</p>\n");
    }
    for (size_t i = 0; i < report->device_count; i++) {
        device_section(out, &report->devices[i], i);
    }
    page_end(out);
}
