/* What bench, tune and health share: devices, the choice of cases, pieces of reports. */
#include "cli/tools.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/scalar.h"

bool tool_open(struct tool_device *device, const struct tool_place *place, const char *name,
               const ingot_ops_desc *ops) {
    *device = (struct tool_device){0};
    const ingot_device_desc desc = {.worker_threads = place->threads,
                                    .cpu_level = place->level,
                                    .own_process = place->own_process,
                                    .sanitize = place->sanitize};
    ingot_status status = ingot_device_open(name ? name : place->device, &desc, &device->device);
    if (!status) {
        status = ingot_device_get_info(device->device, &device->info);
    }
    if (!status) {
        status = ingot_ops_create(device->device, ops, &device->options.ops);
    }
    if (!status) {
        status = ingot_stream_create(device->device, &device->options.stream);
    }
    if (status) {
        cli_error("%s", ingot_error_message());
    }
    return !status;
}

void tool_close(struct tool_device *device) {
    ingot_stream_release(device->options.stream);
    ingot_ops_release(device->options.ops);
    ingot_device_release(device->device);
    *device = (struct tool_device){0};
}

/* ---- which cases ---- */

uint32_t tool_uses(const struct igh_case *test) {
    return test->uses ? test->uses : IGH_CHECK;
}

static bool named(const struct cli_list *patterns, const char *name) {
    for (size_t i = 0; i < patterns->count; i++) {
        if (!fnmatch(patterns->items[i], name, 0)) {
            return true;
        }
    }
    return patterns->count == 0;
}

static bool add_row(struct tool_rows *rows, const struct tool_row *row) {
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 256;
        struct tool_row *items = realloc(rows->items, capacity * sizeof *items);
        if (!items) {
            cli_error("out of memory");
            return false;
        }
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = *row;
    return true;
}

static bool case_matches(const char *match, const char *name) {
    return !match || (*match == '=' ? !strcmp(name, match + 1) : strstr(name, match) != NULL);
}

static bool add_suite(const struct igh_suite *suite, const struct tool_selection *selection,
                      uint32_t uses, uint32_t without, struct tool_rows *rows) {
    for (size_t c = 0; c < suite->case_count; c++) {
        const struct igh_case *test = &suite->cases[c];
        if ((tool_uses(test) & uses) != uses || tool_uses(test) & without ||
            !case_matches(selection->match, test->name)) {
            continue;
        }
        /* float32 first: types are pinned, and it has the highest number */
        for (int type = INGOT_SCALAR_F32; type > INGOT_SCALAR_NONE; type--) {
            const struct tool_row row = {suite, test, (ingot_scalar_type)type};
            if (igh_case_has_type(suite, test, row.type) &&
                named(&selection->types, ig_scalar_name(row.type)) && !add_row(rows, &row)) {
                return false;
            }
        }
    }
    return true;
}

static bool matches_something(const char *pattern) {
    for (size_t i = 0; i < igh_all_suites_count; i++) {
        for (size_t k = 0; k < igh_all_suites[i]->count; k++) {
            if (!fnmatch(pattern, igh_all_suites[i]->suites[k]->operation, 0)) {
                return true;
            }
        }
    }
    return false;
}

static int check_selection(const struct cli_command *command,
                           const struct tool_selection *selection) {
    for (size_t i = 0; i < selection->operations.count; i++) {
        if (!matches_something(selection->operations.items[i])) {
            return cli_usage_error(command, "there is no operation \"%s\"; `ingot ops` lists them",
                                   selection->operations.items[i]);
        }
    }
    for (size_t i = 0; i < selection->types.count; i++) {
        const char *type = selection->types.items[i];
        if (ig_scalar_find(type, strlen(type)) == INGOT_SCALAR_NONE) {
            return cli_usage_error(command, "--type %s: expected a type, such as f32, f16 or bf16",
                                   type);
        }
    }
    return CLI_OK;
}

static void keep_shard(const struct cli_shard *shard, struct tool_rows *rows) {
    size_t kept = 0;
    rows->fits = rows->count > 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (cli_in_shard(shard, i)) {
            rows->items[kept++] = rows->items[i];
        }
    }
    rows->count = kept;
}

int tool_select(const struct cli_command *command, const struct tool_selection *selection,
                uint32_t uses, uint32_t without, struct tool_rows *rows) {
    *rows = (struct tool_rows){0};
    int status = check_selection(command, selection);
    for (size_t i = 0; i < igh_all_suites_count && !status; i++) {
        for (size_t k = 0; k < igh_all_suites[i]->count && !status; k++) {
            const struct igh_suite *suite = igh_all_suites[i]->suites[k];
            if (named(&selection->operations, suite->operation) &&
                !add_suite(suite, selection, uses, without, rows)) {
                status = CLI_FAILED;
            }
        }
    }
    keep_shard(&selection->shard, rows);
    return status;
}

void tool_rows_free(struct tool_rows *rows) {
    free(rows->items);
    *rows = (struct tool_rows){0};
}

void tool_selection_free(struct tool_selection *selection) {
    cli_list_free(&selection->operations);
    cli_list_free(&selection->types);
}

const char *tool_row_name(const struct tool_row *row, char out[160]) {
    snprintf(out, 160, "%s %s %s", row->suite->operation, ig_scalar_name(row->type),
             row->test->name);
    return out;
}

/* ---- reports ---- */

void tool_json_case(struct ig_json *json, const struct tool_row *row) {
    const struct igh_suite *suite = row->suite;
    enum { SIZES = sizeof row->test->n / sizeof *row->test->n };
    enum { NUMBERS = sizeof row->test->f / sizeof *row->test->f };
    char name[16];
    ig_json_object(json, "sizes");
    for (int i = 0; i < SIZES && (!suite->size_names || suite->size_names[i]); i++) {
        snprintf(name, sizeof name, "n%d", i);
        ig_json_i64(json, suite->size_names ? suite->size_names[i] : name, row->test->n[i]);
    }
    ig_json_object_end(json);
    ig_json_object(json, "numbers");
    for (int i = 0; i < NUMBERS && (!suite->number_names || suite->number_names[i]); i++) {
        snprintf(name, sizeof name, "f%d", i);
        ig_json_double(json, suite->number_names ? suite->number_names[i] : name, row->test->f[i]);
    }
    ig_json_object_end(json);
    ig_json_u64(json, "flags", row->test->flags);
    ig_json_array(json, "flag_names");
    for (int i = 0; suite->flag_names && i < 32 && suite->flag_names[i]; i++) {
        if (row->test->flags >> i & 1) {
            ig_json_string(json, NULL, suite->flag_names[i]);
        }
    }
    ig_json_array_end(json);
}

void tool_json_device(struct ig_json *json, const struct tool_device *device) {
    ig_json_object(json, "device");
    ig_json_string(json, "name", device->info.name);
    ig_json_string(json, "description", device->info.description);
    ig_json_string(json, "target", device->info.target);
    ig_json_u64(json, "compute_units", device->info.compute_units);
    ig_json_object_end(json);
}

const char *tool_date(char out[32]) {
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc)) {
        *out = 0;
    }
    return out;
}

const char *tool_seconds(double seconds, char out[32]) {
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i < 3 && seconds < units[i].unit) {
        i++;
    }
    double value = seconds / units[i].unit;
    snprintf(out, 32,
             value < 10    ? "%.2f %s"
             : value < 100 ? "%.1f %s"
                           : "%.0f %s",
             value, units[i].name);
    return out;
}

void tool_print(FILE *out, int width, const char *text) {
    int shown = 0, columns = abs(width);
    for (const char *c = text; *c; c++) {
        shown += (*c & 0xc0) != 0x80; /* bytes that start a character */
    }
    int spaces = columns > shown ? columns - shown : 0;
    fprintf(out, "%*s%s%*s", width < 0 ? spaces : 0, "", text, width < 0 ? 0 : spaces, "");
}
