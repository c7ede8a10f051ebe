/*
 * JUnit XML reports into one: their <testsuite> elements as they are, in a <testsuites> whose
 * counts are the sums of theirs. Nothing else of XML is interpreted.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/merge.h"

static const char opening[] = "<testsuite", closing[] = "</testsuite>";

struct sums {
    uint64_t tests, failures, errors, skipped;
    double time;
};

/* Does an element of this name begin at `at`? <testsuites> is another one. */
static bool begins(const char *at) {
    return strchr(" \t\r\n>/", at[sizeof opening - 1]) && at[sizeof opening - 1];
}

/* The value of an attribute of the tag from `tag` to `end`; 0 when it has none. */
static double attribute(const char *tag, const char *end, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(tag, name); at && at < end; at = strstr(at + length, name)) {
        const char *value = at + length;
        if (memchr(" \t\r\n", at[-1], 4) && value[0] == '=' &&
            (value[1] == '"' || value[1] == '\'')) {
            double number = strtod(value + 2, NULL);
            return number >= 0 && number < 1e15 ? number : 0;
        }
    }
    return 0;
}

/* The end of a tag: quotes may hold a '>'. NULL when there is none. */
static const char *tag_end(const char *tag) {
    char quote = 0;
    for (; *tag; tag++) {
        if (quote) {
            quote = *tag == quote ? 0 : quote;
        } else if (*tag == '"' || *tag == '\'') {
            quote = *tag;
        } else if (*tag == '>') {
            return tag;
        }
    }
    return NULL;
}

static const char *next_suite(const char *at) {
    while ((at = strstr(at, opening)) && !begins(at)) {
        at++;
    }
    return at;
}

/* Behind the element that begins at `suite`; suites may be inside each other. */
static const char *suite_end(const char *suite, const char *tag) {
    if (tag[-1] == '/') {
        return tag + 1;
    }
    int depth = 1;
    for (const char *at = tag; depth;) {
        const char *end = strstr(at, closing), *inner = next_suite(at);
        if (!end) {
            return NULL;
        }
        if (inner && inner < end) {
            const char *inner_tag = tag_end(inner);
            if (!inner_tag) {
                return NULL;
            }
            depth += inner_tag[-1] != '/';
            at = inner_tag;
        } else {
            depth--;
            at = end + sizeof closing - 1;
            suite = at;
        }
    }
    return suite;
}

static ingot_status add_report(const struct merge_report *report, struct ig_text *body,
                               struct sums *sums, struct ig_error *error) {
    size_t found = 0;
    for (const char *suite = next_suite(report->text); suite; suite = next_suite(suite)) {
        const char *tag = tag_end(suite), *end = tag ? suite_end(suite, tag) : NULL;
        if (!end) {
            return ig_fail(error, INGOT_INVALID_ARGUMENT,
                           "%s: the <testsuite> at byte %zu has no end", report->path,
                           (size_t)(suite - report->text));
        }
        sums->tests += (uint64_t)attribute(suite, tag, "tests");
        sums->failures += (uint64_t)attribute(suite, tag, "failures");
        sums->errors += (uint64_t)attribute(suite, tag, "errors");
        sums->skipped +=
            (uint64_t)(attribute(suite, tag, "skipped") + attribute(suite, tag, "disabled"));
        sums->time += attribute(suite, tag, "time");
        ig_text_puts(body, "  ");
        ig_text_append(body, suite, (size_t)(end - suite));
        ig_text_puts(body, "\n");
        suite = end;
        found++;
    }
    return found || strstr(report->text, "<testsuites")
               ? INGOT_OK
               : ig_fail(error, INGOT_INVALID_ARGUMENT, "%s has no <testsuite>: it is no JUnit XML",
                         report->path);
}

ingot_status merge_junit(struct ig_arena *arena, const struct merge_report *reports, size_t count,
                         struct ig_text *out, struct merge_counts *counts, struct ig_error *error) {
    struct ig_text body = {0};
    struct sums sums = {0};
    ingot_status status = INGOT_OK;
    (void)arena;
    for (size_t i = 0; i < count && !status; i++) {
        status = add_report(&reports[i], &body, &sums, error);
    }
    if (!status) {
        ig_text_printf(out,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%llu\" "
                       "failures=\"%llu\" errors=\"%llu\" skipped=\"%llu\" time=\"%.6f\">\n",
                       (unsigned long long)sums.tests, (unsigned long long)sums.failures,
                       (unsigned long long)sums.errors, (unsigned long long)sums.skipped,
                       sums.time);
        ig_text_append(out, ig_text_string(&body), body.size);
        ig_text_puts(out, "</testsuites>\n");
        out->failed |= body.failed;
    }
    uint64_t failed = sums.failures + sums.errors, other = failed + sums.skipped;
    counts->failed = failed;
    counts->passed = sums.tests > other ? sums.tests - other : 0;
    ig_text_free(&body);
    return status;
}
