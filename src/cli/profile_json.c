/* The report of `ingot profile` as JSON; keys are only ever added. */
#include "cli/profile.h"

static void write_line(struct ig_json *json, struct profile_report *report,
                       const struct ig_profile_line *line) {
    ig_json_object(json, NULL);
    ig_json_string(json, "file", line->file);
    ig_json_u64(json, "line", line->line);
    ig_json_string(json, "text", profile_source(report, line->file, line->line));
    for (int c = 0; c < IG_COUNTER_COUNT; c++) {
        ig_json_u64(json, ig_counters[c].name, line->counts[c]);
    }
    ig_json_object_end(json);
}

static void write_hint(struct ig_json *json, const struct profile_hint *hint) {
    ig_json_object(json, NULL);
    ig_json_string(json, "kind", hint->kind);
    ig_json_string(json, "file", hint->file);
    ig_json_u64(json, "line", hint->line);
    ig_json_string(json, "text", hint->text);
    ig_json_object_end(json);
}

static void write_counted(struct ig_json *json, struct profile_report *report,
                          const struct profile_kernel *kernel) {
    const struct ig_profile_kernel *counted = kernel->counted;
    ig_json_u64(json, "counted_launches", counted ? counted->counted : 0);
    if (counted) {
        ig_json_object(json, "launch");
        ig_json_double(json, "bytes_read", (double)counted->bytes_read / (double)counted->counted);
        ig_json_double(json, "bytes_written",
                       (double)counted->bytes_written / (double)counted->counted);
        ig_json_double(json, "bytes_asked", kernel->asked);
        ig_json_double(json, "flops", kernel->flops);
        ig_json_object_end(json);
        ig_json_u64(json, "private_bytes", counted->private_bytes);
    }
    ig_json_object(json, "roofline");
    ig_json_double(json, "flops_per_byte", kernel->bytes > 0 ? kernel->flops / kernel->bytes : 0);
    ig_json_double(json, "share", kernel->share);
    ig_json_string(json, "ceiling",
                   kernel->share > 0 ? kernel->by_bytes ? "copy" : "fma" : "unknown");
    ig_json_object_end(json);
    ig_json_array(json, "lines");
    for (size_t i = 0; counted && i < counted->line_count; i++) {
        write_line(json, report, &counted->lines[i]);
    }
    ig_json_array_end(json);
    ig_json_array(json, "hints");
    for (size_t i = 0; i < kernel->hint_count; i++) {
        write_hint(json, &kernel->hints[i]);
    }
    ig_json_array_end(json);
}

static void write_kernel(struct ig_json *json, struct profile_report *report,
                         const struct profile_kernel *kernel) {
    const struct ig_profile_kernel *times = kernel->times;
    ig_json_object(json, NULL);
    ig_json_string(json, "name", times->name);
    ig_json_string(json, "source", times->source);
    ig_json_string(json, "constants", times->constants);
    ig_json_string(json, "constant_values", times->values);
    ig_json_string(json, "device", times->device);
    ig_json_string(json, "target", times->target);
    ig_json_u64(json, "launches", times->launches);
    ig_json_u64(json, "threads", times->threads);
    ig_json_array(json, "group");
    for (int i = 0; i < 3; i++) {
        ig_json_u64(json, NULL, times->group[i]);
    }
    ig_json_array_end(json);
    ig_json_u64(json, "threadgroup_bytes", times->threadgroup_bytes);
    ig_json_object(json, "seconds");
    ig_json_double(json, "total", (double)times->total_ns * 1e-9);
    ig_json_double(json, "median", (double)times->median_ns * 1e-9);
    ig_json_double(json, "best", (double)times->least_ns * 1e-9);
    ig_json_double(json, "worst", (double)times->most_ns * 1e-9);
    ig_json_bool(json, "with_counters", kernel->is_slow);
    ig_json_object_end(json);
    write_counted(json, report, kernel);
    ig_json_object_end(json);
}

void profile_json(struct profile_report *report, struct ig_text *out) {
    struct ig_json json = {.out = out};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "ingot", ingot_version());
    ig_json_string(&json, "date", report->date);
    ig_json_string(&json, "command", report->command);
    ig_json_array(&json, "devices");
    for (size_t i = 0; i < report->device_count; i++) {
        ig_json_object(&json, NULL);
        ig_json_string(&json, "name", report->devices[i].name);
        bench_json_ceilings(&json, &report->devices[i].ceilings);
        ig_json_object_end(&json);
    }
    ig_json_array_end(&json);
    ig_json_array(&json, "kernels");
    for (size_t i = 0; i < report->kernel_count; i++) {
        write_kernel(&json, report, &report->kernels[i]);
    }
    ig_json_array_end(&json);
    ig_json_array(&json, "moves");
    for (int i = 0; i < IG_MOVE_COUNT; i++) {
        ig_json_object(&json, NULL);
        ig_json_string(&json, "name", ig_move_name(i));
        ig_json_u64(&json, "count", report->times.moves[i].count);
        ig_json_u64(&json, "bytes", report->times.moves[i].bytes);
        ig_json_double(&json, "seconds", (double)report->times.moves[i].ns * 1e-9);
        ig_json_object_end(&json);
    }
    ig_json_array_end(&json);
    ig_json_object(&json, "compilations");
    ig_json_u64(&json, "count", report->times.compilations);
    ig_json_double(&json, "seconds", (double)report->times.compile_ns * 1e-9);
    ig_json_object_end(&json);
    ig_json_object_end(&json);
    ig_text_puts(out, "\n");
}
