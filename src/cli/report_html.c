/* The page of `ingot health`: one file without anything from outside, readable without
 * JavaScript; with it, tables can be sorted and filtered. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cli/health.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fcfcfb;--panel:#fff;--ink:#1d1f23;--dim:#62666d;"
    "--line:#e2e3e6;--good:#1a7f4b;--bad:#c62f2f;--f32:#2f6fdb;--f16:#c9681b;--bf16:#1f8f7a;"
    "--other:#8a5cc2;--tint:#f1f3f6}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#15171a;--panel:#1c1f23;--ink:#e6e7e9;"
    "--dim:#9aa0a8;--line:#31353b;--good:#4cc38a;--bad:#ff7b72;--f32:#79a8ff;--f16:#f0a35e;"
    "--bf16:#56c7b0;--other:#b996ef;--tint:#23272c}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}main{max-width:1120px;margin:0 auto;padding:24px 20px "
    "64px}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 10px}"
    "h3{font-size:16px;margin:24px 0 6px}p{margin:6px 0}.dim{color:var(--dim)}\n"
    ".pill{display:inline-block;padding:2px 12px;border-radius:99px;color:var(--bg);"
    "font-weight:600;vertical-align:4px;font-size:15px;margin-left:10px}"
    ".pill.good{background:var(--good)}.pill.bad{background:var(--bad)}\n"
    ".good{color:var(--good)}.bad{color:var(--bad)}.pill.good,.pill.bad{color:var(--bg)}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}.card{background:var(--panel);"
    "border:1px solid var(--line);border-radius:10px;padding:10px 16px;min-width:130px}"
    ".card b{display:block;font-size:22px;font-variant-numeric:tabular-nums}\n"
    ".scroll{overflow-x:auto;background:var(--panel);border:1px solid var(--line);"
    "border-radius:10px}table{border-collapse:collapse;width:100%;"
    "font-variant-numeric:tabular-nums;font-size:14px}th,td{padding:5px 9px;text-align:left;"
    "border-bottom:1px solid var(--line);white-space:nowrap}tr:last-child td{border-bottom:0}"
    "th{color:var(--dim);font-weight:600;background:var(--tint);position:sticky;top:0}"
    "th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--f32)}"
    "td.n,th.n{text-align:right}td.types{white-space:normal}td.key{font:12px "
    "ui-monospace,monospace;color:var(--dim)}"
    "tr.failed td:first-child{box-shadow:inset 3px 0 var(--bad)}\n"
    ".bar{display:inline-block;width:90px;height:8px;border-radius:4px;background:var(--tint);"
    "margin-right:8px;overflow:hidden}.bar i{display:block;height:100%;background:var(--f32)}\n"
    "details{margin:6px 0}summary{cursor:pointer}details .scroll{margin:8px 0 16px}\n"
    "pre{white-space:pre-wrap;background:var(--panel);border:1px solid var(--line);"
    "border-left:3px solid var(--bad);border-radius:8px;padding:10px "
    "14px;font-size:13px;margin:8px 0}\n"
    "input{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line);"
    "border-radius:8px;padding:5px 10px;margin:0 0 8px;min-width:260px}\n"
    ".plot{width:100%;height:auto;background:var(--panel);border:1px solid var(--line);"
    "border-radius:10px}.plot text{font:12px system-ui,sans-serif;fill:var(--ink)}"
    ".plot text.tick{fill:var(--dim)}.plot .grid{stroke:var(--line)}"
    ".plot .roof{stroke:var(--ink);stroke-width:1.5;fill:none}"
    ".plot circle{stroke:var(--panel);stroke-width:1}.plot circle:hover{stroke:var(--ink);r:6px}\n"
    ".t-f32{fill:var(--f32);background:var(--f32)}.t-f16{fill:var(--f16);background:var(--f16)}"
    ".t-bf16{fill:var(--bf16);background:var(--bf16)}.t-other{fill:var(--other);"
    "background:var(--other)}.legend span{margin-right:16px}.legend i{display:inline-block;"
    "width:10px;height:10px;border-radius:5px;margin-right:6px}\n";

static const char script[] =
    "for(const t of document.querySelectorAll('table.sort')){"
    "t.querySelectorAll('th').forEach((h,c)=>{const b=document.createElement('button');"
    "b.type='button';b.textContent=h.textContent;h.textContent='';h.append(b);"
    "b.onclick=()=>{const up=h.getAttribute('aria-sort')!=='ascending';"
    "t.querySelectorAll('th').forEach(o=>o.removeAttribute('aria-sort'));"
    "h.setAttribute('aria-sort',up?'ascending':'descending');"
    "const v=r=>r.cells[c].dataset.v??r.cells[c].textContent;"
    "const rows=[...t.tBodies[0].rows].sort((x,y)=>{const a=v(x),d=v(y),n=a-d;"
    "return (isNaN(n)?a.localeCompare(d):n)*(up?1:-1)});t.tBodies[0].append(...rows)}})}\n"
    "for(const i of document.querySelectorAll('input[data-for]'))i.oninput=()=>{"
    "const w=i.value.toLowerCase().split(/\\s+/);"
    "for(const r of document.getElementById(i.dataset.for).tBodies[0].rows){"
    "const s=r.textContent.toLowerCase();r.hidden=!w.every(x=>s.includes(x))}};\n"
    "document.documentElement.dataset.ready='yes';\n";

static void cell(struct ig_text *out, const char *text) {
    ig_text_puts(out, "<td>");
    health_escape(out, text);
    ig_text_puts(out, "</td>");
}

/* A number to sort by and how it is shown. */
static void number_cell(struct ig_text *out, double value, const char *shown) {
    ig_text_printf(out, "<td class=\"n\" data-v=\"%.9g\">", isfinite(value) ? value : 1e300);
    health_escape(out, shown);
    ig_text_puts(out, "</td>");
}

static void card(struct ig_text *out, const char *value, const char *name, const char *kind) {
    ig_text_printf(out, "<div class=\"card\"><b class=\"%s\">", kind);
    health_escape(out, value);
    ig_text_puts(out, "</b>");
    health_escape(out, name);
    ig_text_puts(out, "</div>\n");
}

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
    cell(out, s->operation);
    ig_text_puts(out, s->failed ? "<td class=\"bad\">failed</td>" : "<td class=\"good\">ok</td>");
    ig_text_printf(out, "<td class=\"types\">%s</td>", types);
    snprintf(text, sizeof text, "%zu", s->end - s->first);
    number_cell(out, (double)(s->end - s->first), text);
    snprintf(text, sizeof text, "%zu", s->failed);
    number_cell(out, (double)s->failed, text);
    number_cell(out, s->worst, worst_text(s->worst, text));
    ig_text_puts(out, yes_or_no(s->repeated, s->differing));
    ig_text_puts(out, yes_or_no(s->specials, s->specials_failed));
    ig_text_puts(out, yes_or_no(s->empty, s->empty_failed));
    number_cell(out, s->seconds, tool_seconds(s->seconds, text));
    ig_text_puts(out, "</tr>\n");
}

static void case_row(struct ig_text *out, const struct health_case *c) {
    char text[64];
    const struct igh_metric *worst = c->result.worst;
    ig_text_printf(out, "<tr%s>", c->result.passed ? "" : " class=\"failed\"");
    cell(out, ig_scalar_name(c->row.type));
    cell(out, c->row.test->name);
    ig_text_puts(out,
                 c->result.passed ? "<td class=\"good\">ok</td>" : "<td class=\"bad\">failed</td>");
    number_cell(out, health_severity(worst), worst_text(health_severity(worst), text));
    cell(out, worst ? worst->name : "");
    number_cell(out, c->result.seconds, tool_seconds(c->result.seconds, text));
    ig_text_puts(out, "<td class=\"key\">");
    health_escape(out, c->result.variant);
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
        health_escape(out, tool_row_name(&c->row, name));
        ig_text_puts(out, "</b>\n");
        health_escape(out, c->result.message);
        ig_text_puts(out, "\n");
        health_escape(out, c->result.variant);
        ig_text_puts(out, *c->result.launch ? ", " : "");
        health_escape(out, c->result.launch);
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
        health_escape(out, summary.operation);
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
    number_cell(out, rate, text);
}

static void bench_table_row(struct ig_text *out, const struct bench_row *row) {
    char text[32];
    const struct igh_timing *timing = &row->timing;
    ig_text_puts(out, "<tr>");
    cell(out, row->row.suite->operation);
    cell(out, ig_scalar_name(row->row.type));
    cell(out, row->row.test->name);
    if (*row->error) {
        ig_text_puts(out, "<td class=\"bad\" colspan=\"6\">");
        health_escape(out, row->error);
        ig_text_puts(out, "</td></tr>\n");
        return;
    }
    number_cell(out, timing->median, tool_seconds(timing->median, text));
    double spread = timing->median > 0 ? (timing->p90 - timing->p10) / timing->median : 0;
    snprintf(text, sizeof text, "%.0f%%", spread * 100);
    number_cell(out, spread, text);
    rate_cell(out, row->bytes, timing->median);
    rate_cell(out, row->flops, timing->median);
    ig_text_printf(out,
                   "<td data-v=\"%.6f\"><span class=\"bar\"><i style=\"width:%.0f%%\"></i></span>"
                   "%.0f%% %s</td><td class=\"key\">",
                   row->share, fmin(100, row->share * 100), row->share * 100,
                   row->share <= 0 ? ""
                   : row->by_bytes ? "copy"
                                   : "fma");
    health_escape(out, row->variant);
    ig_text_puts(out, "</td></tr>\n");
}

static void speed(struct ig_text *out, const struct health_device *device, size_t number) {
    if (!device->bench_count) {
        return;
    }
    ig_text_printf(
        out,
        "<h3>Speed</h3>\n<p class=\"dim\">A quick look at %zu of %zu rows, on inputs that "
        "rotate past the cache; <code>ingot bench</code> measures all of them, and "
        "longer. This machine copies %.1f GB/s and does %.0f GFLOP/s of float32 "
        "multiply-adds.</p>\n<h3>Roofline</h3>\n",
        device->bench_count, device->bench_rows, device->ceilings.bytes_per_second * 1e-9,
        device->ceilings.flops_per_second * 1e-9);
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
    health_escape(out, device->info.name);
    ig_text_puts(out, "</h2>\n<p class=\"dim\">");
    health_escape(out, device->info.description);
    ig_text_puts(out, ", ");
    health_escape(out, device->info.target);
    ig_text_puts(out, "</p>\n<div class=\"cards\">\n");
    snprintf(text, sizeof text, "%zu", count);
    card(out, text, "operations", "");
    snprintf(text, sizeof text, "%zu", device->case_count - device->failed);
    card(out, text, "cases passed", "good");
    snprintf(text, sizeof text, "%zu", device->failed);
    card(out, text, "cases failed", device->failed ? "bad" : "");
    snprintf(text, sizeof text, "%.0f s", device->seconds);
    card(out, text, "for the checks", "");
    ig_text_puts(out, "</div>\n");
    failures(out, device);
    operations(out, device, number);
    speed(out, device, number);
    cases(out, device);
    ig_text_puts(out, "</section>\n");
}

void health_html(const struct health_report *report, struct ig_text *out) {
    ig_text_puts(out,
                 "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                 "<title>ingot health</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    ig_text_puts(out, style);
    ig_text_printf(out,
                   "</style></head><body><main>\n<h1>ingot health<span class=\"pill %s\" "
                   "id=\"verdict\">%s</span></h1>\n<p class=\"dim\">ingot %s, %s. <span "
                   "id=\"passed\">%zu</span> passed, <span id=\"failed\">%zu</span> failed.</p>\n",
                   report->failed ? "bad" : "good", report->failed ? "failing" : "healthy",
                   ingot_version(), report->date, report->passed, report->failed);
    for (size_t i = 0; i < report->uncovered.count; i++) {
        ig_text_puts(out, "<p class=\"bad\">");
        health_escape(out, report->uncovered.items[i]);
        ig_text_puts(out, " has no cases: nothing checks it.</p>\n");
    }
    for (size_t i = 0; i < report->device_count; i++) {
        device_section(out, &report->devices[i], i);
    }
    ig_text_puts(out, "</main>\n<script>\n");
    ig_text_puts(out, script);
    ig_text_puts(out, "</script>\n</body></html>\n");
}
