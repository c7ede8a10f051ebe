/* The parts of `ingot tune`: points to tune, the search, the policy file. */
#ifndef INGOT_CLI_TUNE_H
#define INGOT_CLI_TUNE_H

#include "cli/tools.h"

enum { TUNE_MAX_KNOBS = 8, TUNE_MAX_ROWS = 8, TUNE_MAX_CANDIDATES = 256 };

/* One class of shapes of one operation and type: what a line of the policy is about. */
struct tune_point {
    ingot_ops_info info;
    char subject[96]; /* "rms_norm/f32/row4096" */
    struct tool_row rows[TUNE_MAX_ROWS];
    size_t row_count;
    uint32_t before[TUNE_MAX_KNOBS], after[TUNE_MAX_KNOBS];
    double seconds_before, seconds_after; /* the rows' sums */
    size_t tried, refused, wrong;
    char first_refusal[256], first_wrong[256];
    bool improved;
};

struct tune_search {
    const struct tool_device *device;
    const char *policy_path; /* of the user; NULL: the usual one */
    double seconds;          /* for one measurement */
    double least_gain;       /* as a share of the time before */
    bool check_all;          /* also what is not among the fastest */
};

/* Finds the knobs in use by launching the row; false, with `why` set, when the row has none. */
bool tune_point_open(const struct tune_search *search, const struct tool_row *row,
                     struct tune_point *point, char why[256]);
/* Fills the outcome. False when the point cannot be measured at all; says why. */
bool tune_point_search(const struct tune_search *search, struct tune_point *point);
/* "simd=2 rows=4" */
void tune_knobs(const struct tune_point *point, const uint32_t *values, struct ig_text *out);

/* `old` (may be NULL) with the rules of the improved points, which replace those of the same
 * device and subject. */
void tune_merge(const char *old, const ingot_device_info *device, const struct tune_point *points,
                size_t count, struct ig_text *out);

#endif
