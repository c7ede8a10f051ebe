/* CSV as `ingot bench --csv` and `--save` write it: a line of column names, then a row per line;
 * a field may stand in double quotes, and a quote in it is doubled. */
#include "cli/baseline.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 64 };
enum column { OPERATION, TYPE, CASE, MEDIAN, P10, P90, COLUMN_COUNT };
static const char *const column_names[COLUMN_COUNT] = {"operation", "type", "case",
                                                       "seconds",   "p10",  "p90"};

void baseline_field(struct ig_text *csv, const char *field) {
    if (!strpbrk(field, ",\"\n\r")) {
        ig_text_puts(csv, field);
        return;
    }
    ig_text_puts(csv, "\"");
    for (const char *c = field; *c; c++) {
        ig_text_printf(csv, *c == '"' ? "\"\"" : "%c", *c);
    }
    ig_text_puts(csv, "\"");
}

/* Splits the line at *at in place, and moves *at behind it. Returns how many fields there are. */
static size_t split(char **at, const char **fields) {
    size_t count = 0;
    char *from = *at, *to = *at;
    bool more = true;
    while (more) {
        if (count < MAX_COLUMNS) {
            fields[count++] = to;
        }
        bool quoted = *from == '"';
        from += quoted;
        while (*from && (quoted || !strchr(",\r\n", *from))) {
            if (quoted && *from == '"') {
                from++;
                if (*from != '"') {
                    quoted = false;
                    continue;
                }
            }
            *to++ = *from++;
        }
        more = *from == ',';
        bool at_end = !*from;
        if (!more && *from == '\r') {
            from++;
        }
        if (!more && *from == '\n') {
            from++;
        } else if (more) {
            from++;
        }
        *to++ = 0;
        if (at_end) {
            from = to - 1;
        }
    }
    *at = from;
    return count;
}

static ingot_status find_columns(const char *name, const char *const *fields, size_t count,
                                 size_t *columns, struct ig_error *error) {
    for (int c = 0; c < COLUMN_COUNT; c++) {
        columns[c] = 0;
        while (columns[c] < count && strcmp(fields[columns[c]], column_names[c])) {
            columns[c]++;
        }
        if (columns[c] == count) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "%s:1: there is no column \"%s\": it is not from `ingot bench --save`",
                           name, column_names[c]);
        }
    }
    return INGOT_OK;
}

static bool read_number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return *text && !*end && *value >= 0;
}

static ingot_status read_rows(struct baseline *baseline, const char *name, char *at,
                              struct ig_error *error) {
    const char *fields[MAX_COLUMNS];
    size_t columns[COLUMN_COUNT], capacity = 0, line = 1;
    ingot_status status = find_columns(name, fields, split(&at, fields), columns, error);
    while (!status && *at) {
        size_t count = split(&at, fields);
        line++;
        if (count == 1 && !*fields[0]) {
            continue;
        }
        if (baseline->count == capacity) {
            capacity = capacity ? 2 * capacity : 128;
            void *entries = realloc(baseline->entries, capacity * sizeof *baseline->entries);
            if (!entries) {
                return ig_fail(error, INGOT_OUT_OF_MEMORY, "no memory for the baseline %s", name);
            }
            baseline->entries = entries;
        }
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (columns[c] >= count) {
                return ig_fail(error, INGOT_INVALID_ARGUMENT,
                               "%s:%zu: the column \"%s\" is missing", name, line, column_names[c]);
            }
        }
        struct baseline_entry entry = {.operation = fields[columns[OPERATION]],
                                       .type = fields[columns[TYPE]],
                                       .name = fields[columns[CASE]]};
        double *const numbers[] = {&entry.median, &entry.p10, &entry.p90};
        for (int c = MEDIAN; c <= P90; c++) {
            if (!read_number(fields[columns[c]], numbers[c - MEDIAN])) {
                return ig_fail(error, INGOT_INVALID_ARGUMENT,
                               "%s:%zu: \"%s\" is no number of seconds (column \"%s\")", name, line,
                               fields[columns[c]], column_names[c]);
            }
        }
        baseline->entries[baseline->count++] = entry;
    }
    return status;
}

ingot_status baseline_read(struct baseline *baseline, const char *name, char *text, size_t size,
                           struct ig_error *error) {
    *baseline = (struct baseline){.text = text};
    ingot_status status =
        strlen(text) == size
            ? read_rows(baseline, name, text, error)
            : ig_fail(error, INGOT_INVALID_ARGUMENT, "%s holds a zero byte: it is no CSV", name);
    if (status) {
        baseline_free(baseline);
    }
    return status;
}

void baseline_free(struct baseline *baseline) {
    free(baseline->text);
    free(baseline->entries);
    *baseline = (struct baseline){0};
}

const struct baseline_entry *baseline_find(const struct baseline *baseline, const char *operation,
                                           const char *type, const char *name) {
    for (size_t i = 0; i < baseline->count; i++) {
        const struct baseline_entry *entry = &baseline->entries[i];
        if (!strcmp(entry->operation, operation) && !strcmp(entry->type, type) &&
            !strcmp(entry->name, name)) {
            return entry;
        }
    }
    return NULL;
}
