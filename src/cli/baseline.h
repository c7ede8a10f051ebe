/* Results of `ingot bench` as CSV: written, and read again as a baseline. */
#ifndef INGOT_CLI_BASELINE_H
#define INGOT_CLI_BASELINE_H

#include "base/error.h"
#include "base/text.h"

struct baseline_entry {
    const char *operation, *type, *name; /* in the baseline's text */
    double median, p10, p90;
};
struct baseline {
    char *text;
    struct baseline_entry *entries;
    size_t count;
};

/* Takes `text` (malloc'ed, `size` bytes and a NUL) over. Columns are found by the names in the
 * first line. */
ingot_status baseline_read(struct baseline *baseline, const char *name, char *text, size_t size,
                           struct ig_error *error);
void baseline_free(struct baseline *baseline);
/* NULL when there is none. */
const struct baseline_entry *baseline_find(const struct baseline *baseline, const char *operation,
                                           const char *type, const char *name);
/* One field, quoted when it must be. */
void baseline_field(struct ig_text *csv, const char *field);

#endif
