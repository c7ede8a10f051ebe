/* The sanitizer's findings in the command's output: JSON, and SARIF for code hosts. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"

static void write_position(struct ig_json *json, const char *key, const uint32_t position[3]) {
    if (position[0] == UINT32_MAX) { /* not known */
        return;
    }
    ig_json_array(json, key);
    for (int i = 0; i < 3; i++) {
        ig_json_u64(json, NULL, position[i]);
    }
    ig_json_array_end(json);
}

static void write_side(struct ig_json *json, const ingot_finding_side *side) {
    ig_json_string(json, "file", side->file);
    ig_json_u64(json, "line", side->line);
    ig_json_u64(json, "column", side->column);
    ig_json_string(json, "access", side->access);
    write_position(json, "threadgroup", side->threadgroup);
    write_position(json, "thread", side->thread);
    ig_json_array(json, "inlined");
    for (size_t i = 0; i < side->inlined_count; i++) {
        ig_json_object(json, NULL);
        ig_json_string(json, "function", side->inlined[i].function);
        ig_json_string(json, "file", side->inlined[i].file);
        ig_json_u64(json, "line", side->inlined[i].line);
        ig_json_u64(json, "column", side->inlined[i].column);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
}

static void write_finding(struct ig_json *json, const ingot_finding *finding) {
    ig_json_object(json, NULL);
    ig_json_string(json, "kind", finding->kind);
    ig_json_string(json, "message", finding->message);
    ig_json_string(json, "kernel", finding->kernel);
    write_side(json, &finding->side);
    ig_json_string(json, "space", finding->space);
    ig_json_string(json, "argument", finding->argument);
    if (finding->argument_index >= 0) {
        ig_json_u64(json, "index", (uint64_t)finding->argument_index);
    }
    ig_json_u64(json, "bytes", finding->argument_bytes);
    if (finding->has_offset) {
        ig_json_i64(json, "offset", finding->offset);
    }
    if (finding->has_other) {
        ig_json_object(json, "other");
        write_side(json, &finding->other);
        ig_json_object_end(json);
    }
    ig_json_u64(json, "count", finding->count);
    ig_json_object_end(json);
}

void cli_write_findings(struct ig_json *json, const ingot_device *device) {
    ig_json_array(json, "findings");
    for (size_t i = 0; i < ingot_device_finding_count(device); i++) {
        ingot_finding finding;
        if (ingot_device_finding(device, i, &finding) == INGOT_OK) {
            write_finding(json, &finding);
        }
    }
    ig_json_array_end(json);
}

/* ---- SARIF 2.1.0 ---- */

void cli_json_uri(struct ig_json *json, const char *path) {
    static const char kept[] = "-._~!$&'()*+,;=@/";
    struct ig_text text = {0};
    for (const char *c = path; *c; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || strchr(kept, *c);
        ig_text_printf(&text, is_plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
    ig_json_string(json, "uri", ig_text_string(&text));
    ig_text_free(&text);
}

static void write_location(struct ig_json *json, const ingot_finding_side *side) {
    ig_json_object(json, NULL);
    ig_json_object(json, "physicalLocation");
    ig_json_object(json, "artifactLocation");
    cli_json_uri(json, side->file);
    ig_json_object_end(json);
    ig_json_object(json, "region");
    ig_json_u64(json, "startLine", side->line ? side->line : 1);
    if (side->column) {
        ig_json_u64(json, "startColumn", side->column);
    }
    ig_json_object_end(json);
    ig_json_object_end(json);
    ig_json_object_end(json);
}

/* None for a thread that is nowhere, such as one that does not reach a barrier. */
static void write_locations(struct ig_json *json, const char *key, const ingot_finding_side *side) {
    if (*side->file) {
        ig_json_array(json, key);
        write_location(json, side);
        ig_json_array_end(json);
    }
}

static void write_sarif_result(struct ig_json *json, const ingot_finding *finding) {
    ig_json_object(json, NULL);
    ig_json_string(json, "ruleId", finding->kind);
    ig_json_string(json, "level", "error");
    ig_json_object(json, "message");
    ig_json_string(json, "text", finding->message);
    ig_json_object_end(json);
    write_locations(json, "locations", &finding->side);
    if (finding->has_other) {
        write_locations(json, "relatedLocations", &finding->other);
    }
    ig_json_u64(json, "occurrenceCount", finding->count);
    ig_json_object_end(json);
}

bool cli_write_sarif(const char *path, const ingot_device *device) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    ig_json_object(&json, NULL);
    ig_json_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    ig_json_string(&json, "version", "2.1.0");
    ig_json_array(&json, "runs");
    ig_json_object(&json, NULL);
    ig_json_object(&json, "tool");
    ig_json_object(&json, "driver");
    ig_json_string(&json, "name", "ingot");
    ig_json_string(&json, "version", ingot_version());
    ig_json_object_end(&json);
    ig_json_object_end(&json);
    ig_json_array(&json, "results");
    for (size_t i = 0; i < ingot_device_finding_count(device); i++) {
        ingot_finding finding;
        if (ingot_device_finding(device, i, &finding) == INGOT_OK) {
            write_sarif_result(&json, &finding);
        }
    }
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    ig_json_array_end(&json);
    ig_json_object_end(&json);
    ig_text_puts(&text, "\n");
    struct ig_error error = {0};
    ingot_status status = text.failed
                              ? ig_fail(&error, INGOT_OUT_OF_MEMORY, "no memory for %s", path)
                              : ig_file_write(path, text.data, text.size, &error);
    if (status) {
        cli_error("%s", ig_error_text(&error));
    }
    ig_error_clear(&error);
    ig_text_free(&text);
    return status == INGOT_OK;
}
