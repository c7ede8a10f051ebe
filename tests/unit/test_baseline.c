/* Baselines of `ingot bench`: CSV written and read again. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/baseline.h"

static ingot_status read_text(struct baseline *baseline, const char *text, struct ig_error *error) {
    return baseline_read(baseline, "file", strdup(text), strlen(text), error);
}

static bool refused(const char *text, const char *expected) {
    struct baseline baseline;
    struct ig_error error = {0};
    bool same = read_text(&baseline, text, &error) && !strcmp(ig_error_text(&error), expected);
    if (!same) {
        fprintf(stderr, "  got \"%s\"\n", ig_error_text(&error));
    }
    ig_error_clear(&error);
    baseline_free(&baseline);
    return same;
}

int main(void) {
    struct baseline baseline;
    struct ig_error error = {0};
    CHECK(!read_text(&baseline,
                     "type,operation,case,p90,seconds,p10,more\r\n"
                     "f32,softmax,\"1,000 \"\"rows\"\"\",3,2e-3,1,x\n\n"
                     "bf16,axpy,1M,0,0,0,",
                     &error));
    CHECK(baseline.count == 2);
    const struct baseline_entry *entry =
        baseline_find(&baseline, "softmax", "f32", "1,000 \"rows\"");
    CHECK(entry && entry->median == 2e-3 && entry->p10 == 1 && entry->p90 == 3);
    CHECK(baseline_find(&baseline, "axpy", "bf16", "1M"));
    CHECK(!baseline_find(&baseline, "axpy", "f32", "1M"));
    baseline_free(&baseline);
    CHECK(!read_text(&baseline, "operation,type,case,seconds,p10,p90\n", &error));
    CHECK(baseline.count == 0);
    baseline_free(&baseline);

    CHECK(refused("", "file:1: there is no column \"operation\": it is not from `ingot bench "
                      "--save`"));
    CHECK(refused("operation,type,case,seconds,p10,p90\na,f32,c,1,2\n",
                  "file:2: the column \"p90\" is missing"));
    CHECK(refused("operation,type,case,seconds,p10,p90\na,f32,c,fast,2,3\n",
                  "file:2: \"fast\" is no number of seconds (column \"seconds\")"));
    CHECK(refused("operation,type,case,seconds,p10,p90\na,f32,c,-1,2,3\n",
                  "file:2: \"-1\" is no number of seconds (column \"seconds\")"));
    CHECK(baseline_read(&baseline, "file", strdup("a"), 5, &error) == INGOT_INVALID_ARGUMENT);
    CHECK(!strcmp(ig_error_text(&error), "file holds a zero byte: it is no CSV"));
    ig_error_clear(&error);

    struct ig_text csv = {0};
    baseline_field(&csv, "plain");
    ig_text_puts(&csv, ",");
    baseline_field(&csv, "a \"b\", c");
    CHECK(!strcmp(ig_text_string(&csv), "plain,\"a \"\"b\"\", c\""));
    ig_text_free(&csv);
    return check_report();
}
