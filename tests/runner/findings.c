/*
 * The sanitizer's findings against what a file says: a line with the comment `// FINDS: KIND` has a
 * finding of that kind (or several: `// FINDS: race bounds`), and no other line has any.
 *
 * All cases of a file count together, so that a helper may be found from several kernels.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/sanitize.h"
#include "runner.h"

enum { MAX_FOUND = 512, KIND_SIZE = 24 };

struct found {
    int line;
    char kind[KIND_SIZE];
    bool is_expected, is_found;
    char *report;
};

struct test_findings {
    struct found items[MAX_FOUND];
    size_t count;
};

static struct found *find(struct test_findings *findings, int line, const char *kind,
                          size_t length) {
    for (size_t i = 0; i < findings->count; i++) {
        struct found *item = &findings->items[i];
        if (item->line == line && strlen(item->kind) == length &&
            !memcmp(item->kind, kind, length)) {
            return item;
        }
    }
    if (findings->count == MAX_FOUND || length >= KIND_SIZE) {
        return NULL;
    }
    struct found *item = &findings->items[findings->count++];
    item->line = line;
    memcpy(item->kind, kind, length);
    return item;
}

/* A file may say what kinds find that are not asked for this time. */
static bool is_asked_for(const char *kinds, const char *kind, size_t length) {
    struct ig_error error = {0};
    uint32_t bits = 0;
    ig_sanitize_parse(kinds, &bits, &error);
    ig_error_clear(&error);
    for (uint32_t i = 0; i < IG_SANITIZE_COUNT; i++) {
        const char *name = ig_sanitize_name(i);
        if (strlen(name) == length && !memcmp(name, kind, length)) {
            return bits >> i & 1;
        }
    }
    return true; /* of no kind: it will not be found */
}

struct test_findings *test_findings_read(const char *text, const char *kinds) {
    static const char mark[] = "// FINDS:";
    struct test_findings *findings = calloc(1, sizeof *findings);
    int number = 1;
    for (const char *line = text; findings && *line; number++) {
        size_t length = strcspn(line, "\n");
        const char *at = memmem(line, length, mark, sizeof mark - 1);
        const char *end = line + length;
        for (at = at ? at + sizeof mark - 1 : end; at < end;) {
            at += strspn(at, " \t");
            size_t word = strcspn(at, " \t\n");
            struct found *item =
                word && is_asked_for(kinds, at, word) ? find(findings, number, at, word) : NULL;
            if (item) {
                item->is_expected = true;
            }
            at += word ? word : 1;
        }
        line += length + (line[length] == '\n');
    }
    return findings;
}

/* Either side of a race may be the one that the file expects: which comes second is chance. */
static struct found *match(struct test_findings *findings, const ingot_finding *finding) {
    size_t length = strlen(finding->kind);
    struct found *item = find(findings, (int)finding->side.line, finding->kind, length);
    if (item && !item->is_expected && finding->has_other && finding->other.line) {
        struct found *other = find(findings, (int)finding->other.line, finding->kind, length);
        return other && other->is_expected ? other : item;
    }
    return item;
}

void test_findings_take(struct test_findings *findings, ingot_device *device) {
    for (size_t i = 0; i < ingot_device_finding_count(device); i++) {
        ingot_finding finding;
        if (ingot_device_finding(device, i, &finding)) {
            continue;
        }
        struct found *item = match(findings, &finding);
        if (item) {
            item->is_found = true;
            free(item->report);
            item->report = strdup(finding.report);
        }
    }
    ingot_device_clear_findings(device);
}

/* True when there is just what the file says; frees the findings. */
bool test_findings_compare(struct test_findings *findings, const char *path,
                           struct ig_text *report) {
    bool good = true;
    for (size_t i = 0; i < findings->count; i++) {
        struct found *item = &findings->items[i];
        if (item->is_expected != item->is_found) {
            good = false;
            ig_text_printf(report, "  %s:%d: %s %s\n%s", path, item->line, item->kind,
                           item->is_expected ? "was not found" : "was found, but not expected:",
                           item->report ? item->report : "");
        }
        free(item->report);
    }
    free(findings);
    return good;
}

/* All kernels of the file in one compilation, with checks: many times cheaper than one by one.
 * NULL, and a reason, when it cannot be made; the caller removes the file. */
char *test_sanitized_archive(const struct test_file *file, const char *target, const char *kinds,
                             struct ig_text *reason) {
    const char *compiler = getenv("INGOTC");
    char *path = strdup("/tmp/ingot-sanitize-XXXXXX");
    int descriptor = path ? mkstemp(path) : -1;
    if (descriptor < 0) {
        free(path);
        ig_text_puts(reason, "there is no temporary file to be had");
        return NULL;
    }
    close(descriptor);
    const char *const words[] = {compiler && *compiler ? compiler : "ingotc",
                                 file->path,
                                 "-o",
                                 path,
                                 "--target",
                                 target,
                                 "--sanitize",
                                 kinds,
                                 NULL};
    struct ig_process process = {.arguments = words};
    struct ig_process_result result = {0};
    struct ig_error error = {0};
    bool good = !ig_process_run(&process, &result, &error) && !result.signal && !result.timed_out &&
                !result.exit_code;
    if (!good) {
        ig_text_puts(reason, error.status ? ig_error_text(&error) : ig_text_string(&result.errors));
        unlink(path);
        free(path);
        path = NULL;
    }
    ig_error_clear(&error);
    ig_process_result_free(&result);
    return path;
}
