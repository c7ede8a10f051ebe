/* The results of `ingot health` as summaries, JSON and JUnit XML. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cli/health.h"
#include "cli/page.h"

double health_severity(const struct igh_metric *metric) {
    if (!metric) {
        return 0;
    }
    return isnan(metric->value) ? INFINITY
           : metric->bound > 0  ? metric->value / metric->bound
           : metric->value <= 0 ? 0
                                : INFINITY;
}

/* Did what was tried with NaN and infinities fail? */
static bool specials_failed(const struct igh_result *result) {
    static const char suffix[] = ", specials";
    bool failed = !strncmp(result->message, "specials: ", 10);
    for (size_t i = 0; i < result->metric_count; i++) {
        const struct igh_metric *metric = &result->metrics[i];
        size_t length = strlen(metric->name);
        if (length >= sizeof suffix && !strcmp(metric->name + length - sizeof suffix + 1, suffix)) {
            failed |= !(metric->value <= metric->bound);
        }
    }
    return failed;
}

bool health_summarise(const struct health_device *device, size_t first,
                      struct health_summary *summary) {
    if (first >= device->case_count) {
        return false;
    }
    *summary = (struct health_summary){
        .operation = device->cases[first].row.suite->operation, .first = first, .end = first};
    while (summary->end < device->case_count &&
           !strcmp(device->cases[summary->end].row.suite->operation, summary->operation)) {
        const struct health_case *c = &device->cases[summary->end++];
        double severity = health_severity(c->result.worst);
        summary->failed += !c->result.passed;
        summary->specials += c->result.has_specials;
        summary->specials_failed += c->result.has_specials && specials_failed(&c->result);
        summary->empty += c->result.is_empty;
        summary->empty_failed += c->result.is_empty && !c->result.passed;
        summary->types |= IGH_TYPE(c->row.type);
        summary->seconds += c->result.seconds;
        if (severity > summary->worst) {
            summary->worst = severity;
        }
        for (size_t m = 0; m < c->result.metric_count; m++) {
            if (!strcmp(c->result.metrics[m].name, "runs that differ")) {
                summary->repeated++;
                summary->differing += c->result.metrics[m].value > 0;
            }
        }
    }
    return true;
}

/* ---- JSON ---- */

static void json_case(struct ig_json *json, const struct health_case *c) {
    ig_json_object(json, NULL);
    ig_json_string(json, "operation", c->row.suite->operation);
    ig_json_string(json, "type", ig_scalar_name(c->row.type));
    ig_json_string(json, "case", c->row.test->name);
    tool_json_case(json, &c->row);
    ig_json_bool(json, "passed", c->result.passed);
    if (*c->result.message) {
        ig_json_string(json, "message", c->result.message);
    }
    ig_json_string(json, "variant", c->result.variant);
    ig_json_string(json, "launch", c->result.launch);
    ig_json_bool(json, "empty", c->result.is_empty);
    ig_json_bool(json, "specials", c->result.has_specials);
    ig_json_double(json, "seconds", c->result.seconds);
    ig_json_array(json, "metrics");
    for (size_t i = 0; i < c->result.metric_count; i++) {
        ig_json_object(json, NULL);
        ig_json_string(json, "name", c->result.metrics[i].name);
        ig_json_double(json, "value", c->result.metrics[i].value);
        ig_json_double(json, "bound", c->result.metrics[i].bound);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
    ig_json_object_end(json);
}

void health_json(const struct health_report *report, struct ig_text *out) {
    struct ig_json json = {.out = out};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "ingot", ingot_version());
    ig_json_string(&json, "date", report->date);
    ig_json_array(&json, "devices");
    for (size_t d = 0; d < report->device_count; d++) {
        const struct health_device *device = &report->devices[d];
        ig_json_object(&json, NULL);
        ig_json_string(&json, "name", device->info.name);
        ig_json_string(&json, "description", device->info.description);
        ig_json_string(&json, "target", device->info.target);
        ig_json_u64(&json, "passed", device->case_count - device->failed);
        ig_json_u64(&json, "failed", device->failed);
        ig_json_double(&json, "seconds", device->seconds);
        ig_json_array(&json, "cases");
        for (size_t i = 0; i < device->case_count; i++) {
            json_case(&json, &device->cases[i]);
        }
        ig_json_array_end(&json);
        if (device->bench) {
            bench_json_ceilings(&json, &device->ceilings);
            ig_json_array(&json, "bench");
            for (size_t i = 0; i < device->bench_count; i++) {
                bench_json_row(&json, &device->bench[i]);
            }
            ig_json_array_end(&json);
        }
        ig_json_object_end(&json);
    }
    ig_json_array_end(&json);
    ig_json_array(&json, "operations_without_cases");
    for (size_t i = 0; i < report->uncovered.count; i++) {
        ig_json_string(&json, NULL, report->uncovered.items[i]);
    }
    ig_json_array_end(&json);
    ig_json_u64(&json, "passed", report->passed);
    ig_json_u64(&json, "failed", report->failed);
    ig_json_object_end(&json);
}

/* ---- JUnit ---- */

static void junit_attribute(struct ig_text *out, const char *name, const char *value) {
    ig_text_printf(out, " %s=\"", name);
    page_escape(out, value);
    ig_text_puts(out, "\"");
}

static void junit_case(struct ig_text *out, const char *class_name, const struct health_case *c) {
    char name[160];
    snprintf(name, sizeof name, "%s %s", ig_scalar_name(c->row.type), c->row.test->name);
    ig_text_puts(out, "    <testcase");
    junit_attribute(out, "classname", class_name);
    junit_attribute(out, "name", name);
    ig_text_printf(out, " time=\"%.6f\"", c->result.seconds);
    if (c->result.passed) {
        ig_text_puts(out, "/>\n");
        return;
    }
    ig_text_puts(out, ">\n      <failure");
    junit_attribute(out, "message", c->result.message);
    ig_text_puts(out, ">");
    page_escape(out, c->result.variant);
    ig_text_puts(out, *c->result.launch ? ", " : "");
    page_escape(out, c->result.launch);
    for (size_t i = 0; i < c->result.metric_count; i++) {
        ig_text_puts(out, "\n");
        page_escape(out, c->result.metrics[i].name);
        ig_text_printf(out, ": %.6g, bound %.6g", c->result.metrics[i].value,
                       c->result.metrics[i].bound);
    }
    ig_text_puts(out, "</failure>\n    </testcase>\n");
}

static void junit_operation(struct ig_text *out, const struct health_device *device,
                            const struct health_summary *summary, const char *date) {
    char name[160];
    snprintf(name, sizeof name, "%s.%s", device->info.name, summary->operation);
    ig_text_puts(out, "  <testsuite");
    junit_attribute(out, "name", name);
    ig_text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.6f\"",
                   summary->end - summary->first, summary->failed, summary->seconds);
    junit_attribute(out, "timestamp", date);
    ig_text_puts(out, ">\n");
    for (size_t i = summary->first; i < summary->end; i++) {
        junit_case(out, name, &device->cases[i]);
    }
    ig_text_puts(out, "  </testsuite>\n");
}

void health_junit(const struct health_report *report, struct ig_text *out) {
    ig_text_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<testsuites name=\"ingot health\" tests=\"%zu\" failures=\"%zu\">\n",
                   report->passed + report->failed, report->failed);
    for (size_t d = 0; d < report->device_count; d++) {
        struct health_summary summary = {0};
        while (health_summarise(&report->devices[d], summary.end, &summary)) {
            junit_operation(out, &report->devices[d], &summary, report->date);
        }
    }
    if (report->uncovered.count) {
        ig_text_printf(out, "  <testsuite name=\"coverage\" tests=\"%zu\" failures=\"%zu\">\n",
                       report->uncovered.count, report->uncovered.count);
        for (size_t i = 0; i < report->uncovered.count; i++) {
            ig_text_puts(out, "    <testcase classname=\"coverage\"");
            junit_attribute(out, "name", report->uncovered.items[i]);
            ig_text_puts(out, "><failure message=\"the operation has no cases\"/></testcase>\n");
        }
        ig_text_puts(out, "  </testsuite>\n");
    }
    ig_text_puts(out, "</testsuites>\n");
}
