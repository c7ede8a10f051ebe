/* Results of `ingot health`, and what writes them out. */
#ifndef INGOT_CLI_HEALTH_H
#define INGOT_CLI_HEALTH_H

#include "cli/tools.h"

struct health_case {
    struct tool_row row;
    struct igh_result result;
    bool done;
    bool again; /* it was checked when the device was lost, perhaps by another: once more, alone */
};

struct health_device {
    ingot_device_info info;
    const char *level;         /* of --cpu; NULL: the device's own choice */
    struct health_case *cases; /* by operation */
    size_t case_count, failed;
    double seconds;
    struct igh_ceilings ceilings; /* 0 when nothing was measured */
    struct bench_row *bench;
    size_t bench_count, bench_rows; /* measured, and how many there are */
};

struct health_report {
    struct health_device *devices;
    size_t device_count;
    struct cli_list uncovered; /* operations without cases: each is a failure */
    char date[32];
    size_t passed, failed; /* cases on all devices; uncovered operations are among the failed */
};

/* What the cases of one operation say together. */
struct health_summary {
    const char *operation;
    size_t first, end; /* cases */
    size_t failed, specials, empty, repeated;
    size_t differing; /* cases whose repeated runs differ */
    size_t specials_failed, empty_failed;
    double worst; /* value / bound of the worst metric; infinite when there is no bound */
    uint32_t types;
    double seconds;
};
/* The summary of the operation that starts at case `first`; false at the end. */
bool health_summarise(const struct health_device *device, size_t first,
                      struct health_summary *summary);
/* value / bound; 0 when there is no metric */
double health_severity(const struct igh_metric *metric);

void health_json(const struct health_report *report, struct ig_text *out);
void health_junit(const struct health_report *report, struct ig_text *out);
void health_html(const struct health_report *report, struct ig_text *out);

/* The roofline, the bars and the table of what was measured. */
void health_speed(const struct health_device *device, size_t number, struct ig_text *out);

/* ---- plots (report_plots.c): inline SVG ------------------------------------------------------ */

/* Arithmetic intensity against performance, with both ceilings. */
void health_roofline(const struct health_device *device, struct ig_text *out);
/* A bar per row: its share of the ceiling. */
void health_bars(const struct health_device *device, struct ig_text *out);

#endif
