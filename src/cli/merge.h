/* What `ingot merge` does with each format of report. */
#ifndef INGOT_CLI_MERGE_H
#define INGOT_CLI_MERGE_H

#include "cli/cli.h"

struct merge_report {
    const char *path, *text; /* with a NUL behind it */
    size_t size;
};

struct merge_counts {
    uint64_t passed, failed;
    uint64_t rows; /* that were measured, in reports that count no cases */
};

ingot_status merge_json(struct ig_arena *arena, const struct merge_report *reports, size_t count,
                        struct ig_text *out, struct merge_counts *counts, struct ig_error *error);
ingot_status merge_junit(struct ig_arena *arena, const struct merge_report *reports, size_t count,
                         struct ig_text *out, struct merge_counts *counts, struct ig_error *error);

#endif
