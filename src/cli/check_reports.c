/* What `ingot check` found, for code hosts: SARIF, GitLab's code quality, GitHub's annotations. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "cli/check.h"

bool check_split_diagnostic(const char *line, size_t length, struct check_diagnostic *out) {
    static const char *const severities[] = {"error", "fatal error", "warning", "note"};
    for (size_t i = 0; i < length; i++) {
        char *end;
        if (line[i] != ':' || i + 1 >= length || line[i + 1] < '0' || line[i + 1] > '9') {
            continue;
        }
        out->line = strtoul(line + i + 1, &end, 10);
        if (*end != ':' || end[1] < '0' || end[1] > '9') {
            continue;
        }
        out->column = strtoul(end + 1, &end, 10);
        if (*end != ':' || end[1] != ' ') {
            continue;
        }
        for (size_t s = 0; s < sizeof severities / sizeof severities[0]; s++) {
            size_t word = strlen(severities[s]);
            if (!strncmp(end + 2, severities[s], word) && !strncmp(end + 2 + word, ": ", 2)) {
                out->file = line;
                out->file_length = i;
                out->severity = severities[s];
                out->message = end + 4 + word;
                out->message_length = length - (size_t)(out->message - line);
                return true;
            }
        }
    }
    return false;
}

/* The name that a message says is unknown, if it is spelled as macros are; else 0. */
static size_t missing_macro(const struct check_diagnostic *found, const char **name) {
    static const char *const messages[] = {"use of undeclared identifier '", "unknown type name '"};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        size_t word = strlen(messages[i]);
        if (found->message_length > word && !strncmp(found->message, messages[i], word)) {
            *name = found->message + word;
            size_t length = strspn(*name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            return length > 1 && (*name)[length] == '\'' ? length : 0;
        }
    }
    return 0;
}

void check_hint_at_macros(const struct check_report *report) {
    enum { MOST_NAMES = 5 };
    const char *names[MOST_NAMES];
    size_t lengths[MOST_NAMES], count = 0;
    for (size_t i = 0; i < report->lines.count && count < MOST_NAMES; i++) {
        const char *line = report->lines.items[i], *name = line;
        struct check_diagnostic found;
        size_t length =
            check_split_diagnostic(line, strlen(line), &found) ? missing_macro(&found, &name) : 0;
        bool known = !length;
        for (size_t k = 0; k < count; k++) {
            known |= lengths[k] == length && !memcmp(names[k], name, length);
        }
        if (!known) {
            names[count] = name;
            lengths[count++] = length;
        }
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%s%.*s", i ? ", " : "note: unknown, perhaps macros: ", (int)lengths[i],
                names[i]);
    }
    if (count) {
        fprintf(
            stderr,
            "\n  -D %.*s=VALUE says what the program that compiles the source defines; `define`\n"
            "  in ingot.toml says it for each file\n",
            (int)lengths[0], names[0]);
    }
}

/* Code hosts know files by their paths from the top of a repository, without a ./ before. */
static void name_for_hosts(struct check_diagnostic *d) {
    while (d->file_length > 2 && !strncmp(d->file, "./", 2)) {
        d->file += 2;
        d->file_length -= 2;
    }
}

bool check_report_diagnostics(struct check_report *report, struct ig_arena *arena,
                              const char *text) {
    struct check_diagnostic found;
    for (; *text; text += *text == '\n') {
        size_t length = strcspn(text, "\n");
        if (check_split_diagnostic(text, length, &found) && strcmp(found.severity, "note") != 0) {
            char *kept = ig_arena_copy(arena, text, length + 1);
            if (!kept) {
                return false;
            }
            kept[length] = '\0';
            bool known = false;
            for (size_t i = 0; i < report->lines.count; i++) {
                known |= !strcmp(report->lines.items[i], kept);
            }
            if (!known && !cli_list_add(&report->lines, kept)) {
                return false;
            }
        }
        text += length;
    }
    return true;
}

static const char *part(struct ig_arena *arena, const char *text, size_t length) {
    const char *copy = ig_arena_printf(arena, "%.*s", (int)length, text);
    return copy ? copy : "";
}

static const char *level_of(const struct check_diagnostic *d) {
    return strstr(d->severity, "error") ? "error" : "warning";
}

static void write_sarif(struct ig_json *json, const struct check_report *report,
                        struct ig_arena *arena) {
    ig_json_object(json, NULL);
    ig_json_string(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    ig_json_string(json, "version", "2.1.0");
    ig_json_array(json, "runs");
    ig_json_object(json, NULL);
    ig_json_object(json, "tool");
    ig_json_object(json, "driver");
    ig_json_string(json, "name", "ingot");
    ig_json_string(json, "version", ingot_version());
    ig_json_object_end(json);
    ig_json_object_end(json);
    ig_json_array(json, "results");
    for (size_t i = 0; i < report->lines.count; i++) {
        struct check_diagnostic d;
        const char *line = report->lines.items[i];
        check_split_diagnostic(line, strlen(line), &d);
        name_for_hosts(&d);
        ig_json_object(json, NULL);
        ig_json_string(json, "ruleId", "compile");
        ig_json_string(json, "level", level_of(&d));
        ig_json_object(json, "message");
        ig_json_string(json, "text", part(arena, d.message, d.message_length));
        ig_json_object_end(json);
        ig_json_array(json, "locations");
        ig_json_object(json, NULL);
        ig_json_object(json, "physicalLocation");
        ig_json_object(json, "artifactLocation");
        cli_json_uri(json, part(arena, d.file, d.file_length));
        ig_json_object_end(json);
        ig_json_object(json, "region");
        ig_json_u64(json, "startLine", d.line);
        ig_json_u64(json, "startColumn", d.column);
        ig_json_object_end(json);
        ig_json_object_end(json);
        ig_json_object_end(json);
        ig_json_array_end(json);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
    ig_json_object_end(json);
    ig_json_array_end(json);
    ig_json_object_end(json);
}

static void write_code_quality(struct ig_json *json, const struct check_report *report,
                               struct ig_arena *arena) {
    ig_json_array(json, NULL);
    for (size_t i = 0; i < report->lines.count; i++) {
        struct check_diagnostic d;
        const char *line = report->lines.items[i];
        uint8_t digest[32];
        char hex[65];
        struct ig_hash hash;
        check_split_diagnostic(line, strlen(line), &d);
        name_for_hosts(&d);
        ig_hash_begin(&hash);
        ig_hash_string(&hash, line);
        ig_hash_end(&hash, digest);
        ig_hash_hex(digest, hex);
        ig_json_object(json, NULL);
        ig_json_string(json, "description", part(arena, d.message, d.message_length));
        ig_json_string(json, "check_name", "ingot check");
        ig_json_string(json, "fingerprint", hex);
        ig_json_string(json, "severity", strcmp(level_of(&d), "error") ? "minor" : "major");
        ig_json_object(json, "location");
        ig_json_string(json, "path", part(arena, d.file, d.file_length));
        ig_json_object(json, "lines");
        ig_json_u64(json, "begin", d.line);
        ig_json_object_end(json);
        ig_json_object_end(json);
        ig_json_object_end(json);
    }
    ig_json_array_end(json);
}

/* GitHub's format: % and line breaks are escaped, and in names colons and commas too. */
static void print_escaped(const char *text, size_t length, const char *also) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '%' || c == '\r' || c == '\n' || strchr(also, c)) {
            printf("%%%02X", c);
        } else {
            putchar(c);
        }
    }
}

static void print_annotations(const struct check_report *report) {
    for (size_t i = 0; i < report->lines.count; i++) {
        struct check_diagnostic d;
        const char *line = report->lines.items[i];
        check_split_diagnostic(line, strlen(line), &d);
        name_for_hosts(&d);
        printf("::%s file=", level_of(&d));
        print_escaped(d.file, d.file_length, ":,");
        printf(",line=%lu,col=%lu::", d.line, d.column);
        print_escaped(d.message, d.message_length, "");
        putchar('\n');
    }
}

static bool write_file(const char *path, const struct check_report *report, struct ig_arena *arena,
                       void (*write)(struct ig_json *json, const struct check_report *report,
                                     struct ig_arena *arena)) {
    struct ig_text text = {0};
    struct ig_json json = {.out = &text};
    struct ig_error error = {0};
    write(&json, report, arena);
    ig_text_puts(&text, "\n");
    bool good = !text.failed && ig_file_write(path, text.data, text.size, &error) == INGOT_OK;
    if (!good) {
        cli_error("%s", text.failed ? "out of memory" : ig_error_text(&error));
    }
    ig_error_clear(&error);
    ig_text_free(&text);
    return good;
}

bool check_write_reports(const struct check_report *report, struct ig_arena *arena) {
    bool good = true;
    if (report->annotations) {
        print_annotations(report);
    }
    if (report->sarif) {
        good &= write_file(report->sarif, report, arena, write_sarif);
    }
    if (report->code_quality) {
        good &= write_file(report->code_quality, report, arena, write_code_quality);
    }
    return good;
}
