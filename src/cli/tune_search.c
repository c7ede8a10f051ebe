/* The search of `ingot tune` over the knobs of one class of shapes. All combinations when they
 * are few, otherwise one knob after the other, twice. A candidate is a rule of a policy: what the
 * policy's reader, the operation's checks or the launch refuse is out. The fastest are checked
 * against the reference, and must then beat the present knobs in turns with them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tune.h"

enum { MAX_VALUES = 12, FULL_PRODUCT = 40, FINALISTS = 4, MAX_WRONG = 8, DUELS = 5 };

struct candidate {
    uint32_t values[TUNE_MAX_KNOBS];
    double seconds; /* infinite: refused or wrong */
};

struct state {
    const struct tune_search *search;
    struct tune_point *point;
    struct igh_bench *benches[TUNE_MAX_ROWS];
    struct candidate candidates[TUNE_MAX_CANDIDATES];
    size_t count;
};

void tune_knobs(const struct tune_point *point, const uint32_t *values, struct ig_text *out) {
    for (size_t k = 0; k < point->info.knob_count; k++) {
        ig_text_printf(out, "%s%s=%u", k ? " " : "", point->info.knobs[k].name, values[k]);
    }
}

/* ---- the knobs in use ---- */

static bool find_info(const char *name, ingot_ops_info *info) {
    for (size_t i = 0; i < ingot_ops_count(); i++) {
        if (!ingot_ops_describe(i, info) && !strcmp(info->name, name)) {
            return true;
        }
    }
    return false;
}

/* "simd8.rows4" at the end of a key */
static bool read_knobs(const struct tune_point *point, const char *text, uint32_t *values) {
    for (size_t k = 0; k < point->info.knob_count; k++) {
        size_t length = strlen(point->info.knobs[k].name);
        char *end;
        if (strncmp(text, point->info.knobs[k].name, length)) {
            return false;
        }
        values[k] = (uint32_t)strtoul(text + length, &end, 10);
        if (end == text + length || (*end && *end != '.')) {
            return false;
        }
        text = end + (*end == '.');
    }
    return true;
}

bool tune_point_open(const struct tune_search *search, const struct tool_row *row,
                     struct tune_point *point, char why[256]) {
    struct ig_error error = {0};
    char key[128] = "";
    *point = (struct tune_point){.rows = {*row}, .row_count = 1};
    snprintf(why, 256, "it has no knobs");
    if (!find_info(row->suite->operation, &point->info) || !point->info.knob_count ||
        point->info.knob_count > TUNE_MAX_KNOBS) {
        return false;
    }
    struct igh_bench *bench =
        igh_bench_open(&search->device->options, row->suite, row->test, row->type, 0, &error);
    double seconds;
    if (bench && !igh_bench_time(bench, 1, &seconds, &error)) {
        snprintf(key, sizeof key, "%s", ingot_ops_last_variant());
    }
    igh_bench_close(bench);
    if (error.status) {
        snprintf(why, 256, "%s", ig_error_text(&error));
    }
    bool failed = error.status != INGOT_OK;
    ig_error_clear(&error);
    if (failed) {
        return false;
    }
    snprintf(why, 256, "its launch \"%s\" is not one of its own class", key);
    size_t name = strlen(point->info.name);
    char *knobs = strrchr(key, '/');
    if (strncmp(key, point->info.name, name) || key[name] != '/' || knobs <= key + name) {
        return false;
    }
    *knobs++ = 0;
    snprintf(point->subject, sizeof point->subject, "%.95s", key);
    return read_knobs(point, knobs, point->before);
}

/* ---- one candidate ---- */

static ingot_ops *make_ops(const struct state *state, const uint32_t *values) {
    struct ig_text rule = {0};
    ingot_ops *ops = NULL;
    ig_text_printf(&rule, "* %s ", state->point->subject);
    tune_knobs(state->point, values, &rule);
    const ingot_ops_desc desc = {.policy_path = state->search->policy_path,
                                 .policy_text = ig_text_string(&rule)};
    if (ingot_ops_create(state->search->device->device, &desc, &ops)) {
        ops = NULL;
    }
    ig_text_free(&rule);
    return ops;
}

/* Seconds of all rows, or infinity; `why` then says the reason. */
static double measure(struct state *state, const uint32_t *values, char *why, size_t size) {
    double total = 0;
    struct ig_error error = {0};
    ingot_ops *ops = make_ops(state, values);
    if (!ops) {
        snprintf(why, size, "%s", ingot_error_message());
    }
    for (size_t i = 0; i < state->point->row_count && ops && !error.status; i++) {
        struct igh_timing timing;
        igh_bench_use(state->benches[i], ops);
        if (!igh_bench_measure(state->benches[i], state->search->seconds, &timing, &error)) {
            total += timing.median;
        }
        /* A failed launch may have left an error on the stream. */
        (void)ingot_stream_wait(state->search->device->options.stream);
    }
    if (error.status) {
        snprintf(why, size, "%s", ig_error_text(&error));
    }
    bool fine = ops && !error.status;
    ig_error_clear(&error);
    ingot_ops_release(ops);
    return fine ? total : INFINITY;
}

static void try_candidate(struct state *state, const uint32_t *values) {
    struct tune_point *point = state->point;
    size_t bytes = point->info.knob_count * sizeof *values;
    for (size_t i = 0; i < state->count; i++) {
        if (!memcmp(state->candidates[i].values, values, bytes)) {
            return;
        }
    }
    if (state->count == TUNE_MAX_CANDIDATES) {
        return;
    }
    struct candidate *candidate = &state->candidates[state->count++];
    memcpy(candidate->values, values, bytes);
    char why[256] = "";
    candidate->seconds = measure(state, values, why, sizeof why);
    point->tried++;
    if (isinf(candidate->seconds)) {
        point->refused++;
        if (!*point->first_refusal) {
            snprintf(point->first_refusal, sizeof point->first_refusal, "%s", why);
        }
    }
}

/* Right on every row, by the reference? */
static bool check(struct state *state, const uint32_t *values) {
    struct tune_point *point = state->point;
    ingot_ops *ops = make_ops(state, values);
    bool right = ops != NULL;
    for (size_t i = 0; i < point->row_count && right; i++) {
        const struct igh_options options = {
            .ops = ops, .stream = state->search->device->options.stream, .repeats = 2};
        struct igh_result result;
        const struct tool_row *row = &point->rows[i];
        igh_check(&options, row->suite, row->test, row->type, &result);
        right = result.passed;
        if (!right && !*point->first_wrong) {
            snprintf(point->first_wrong, sizeof point->first_wrong, "%.255s", result.message);
        }
    }
    ingot_ops_release(ops);
    point->wrong += !right;
    return right;
}

/* ---- the search ---- */

static size_t knob_values(const ingot_ops_knob *knob, uint32_t now, uint32_t *values) {
    size_t count = 0;
    bool few = !knob->power_of_two && knob->maximum - knob->minimum < 8;
    for (uint64_t v = knob->minimum; v <= knob->maximum && count < MAX_VALUES - 2;) {
        values[count++] = (uint32_t)v;
        if (few) {
            v++;
            continue;
        }
        uint64_t next = 1; /* the next power of two */
        while (next <= v) {
            next *= 2;
        }
        v = next;
    }
    if (!knob->power_of_two && values[count - 1] != knob->maximum) {
        values[count++] = knob->maximum;
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i] == now) {
            return count;
        }
    }
    values[count++] = now;
    return count;
}

static const struct candidate *fastest(const struct state *state) {
    const struct candidate *best = &state->candidates[0];
    for (size_t i = 1; i < state->count; i++) {
        if (state->candidates[i].seconds < best->seconds) {
            best = &state->candidates[i];
        }
    }
    return best;
}

static void sweep(struct state *state) {
    const struct tune_point *point = state->point;
    size_t knobs = point->info.knob_count, counts[TUNE_MAX_KNOBS], product = 1;
    uint32_t values[TUNE_MAX_KNOBS][MAX_VALUES], at[TUNE_MAX_KNOBS];
    for (size_t k = 0; k < knobs; k++) {
        counts[k] = knob_values(&point->info.knobs[k], point->before[k], values[k]);
        product *= counts[k];
    }
    for (size_t i = 0; i < product && product <= FULL_PRODUCT; i++) {
        for (size_t k = 0, rest = i; k < knobs; rest /= counts[k], k++) {
            at[k] = values[k][rest % counts[k]];
        }
        try_candidate(state, at);
    }
    for (int pass = 0; pass < 2 && product > FULL_PRODUCT; pass++) {
        for (size_t k = 0; k < knobs; k++) {
            for (size_t i = 0; i < counts[k]; i++) {
                memcpy(at, fastest(state)->values, sizeof at);
                at[k] = values[k][i];
                try_candidate(state, at);
            }
        }
    }
}

/* The two in turns. The middle of the ratios decides, and so do the best times of both, which are
 * what is reported. */
static bool duel(struct state *state, struct candidate *challenger) {
    struct tune_point *point = state->point;
    double ratios[DUELS], before = INFINITY, after = INFINITY;
    char why[256];
    for (int i = 0; i < DUELS; i++) {
        double a = measure(state, point->before, why, sizeof why);
        double b = measure(state, challenger->values, why, sizeof why);
        before = fmin(before, a);
        after = fmin(after, b);
        ratios[i] = b / a;
        for (int k = i; k > 0 && ratios[k] < ratios[k - 1]; k--) {
            double swap = ratios[k];
            ratios[k] = ratios[k - 1];
            ratios[k - 1] = swap;
        }
    }
    const double limit = 1 - state->search->least_gain;
    if (!(ratios[DUELS / 2] < limit && after < before * limit)) {
        return false;
    }
    memcpy(point->after, challenger->values, sizeof point->after);
    point->seconds_before = before;
    point->seconds_after = after;
    return point->improved = true;
}

/* What is wrong is out, whether or not it is fast enough to win. */
static void check_all(struct state *state) {
    for (size_t i = 1; i < state->count; i++) {
        if (!isinf(state->candidates[i].seconds) && !check(state, state->candidates[i].values)) {
            state->candidates[i].seconds = INFINITY;
        }
    }
}

bool tune_point_search(const struct tune_search *search, struct tune_point *point) {
    struct state *state = calloc(1, sizeof *state);
    struct ig_error error = {0};
    if (!state) {
        cli_error("out of memory");
        return false;
    }
    state->search = search;
    state->point = point;
    for (size_t i = 0; i < point->row_count && !error.status; i++) {
        state->benches[i] =
            igh_bench_open(&search->device->options, point->rows[i].suite, point->rows[i].test,
                           point->rows[i].type, igh_rotate_bytes(), &error);
    }
    bool fine = !error.status;
    if (fine) {
        try_candidate(state, point->before);
        point->seconds_before = point->seconds_after = state->candidates[0].seconds;
        memcpy(point->after, point->before, sizeof point->after);
        fine = !isinf(state->candidates[0].seconds);
    }
    if (fine) {
        sweep(state);
        if (search->check_all) {
            check_all(state);
        }
        const size_t wrong_before = point->wrong;
        for (int duels = 0;
             duels < FINALISTS && point->wrong - wrong_before < MAX_WRONG && !point->improved;) {
            struct candidate *best = &state->candidates[fastest(state) - state->candidates];
            if (!(best->seconds < state->candidates[0].seconds * (1 - search->least_gain))) {
                break;
            }
            bool right = search->check_all || check(state, best->values);
            duels += right;
            if (!right || !duel(state, best)) {
                best->seconds = INFINITY;
            }
        }
    }
    if (error.status) {
        cli_error("%s: %s", point->subject, ig_error_text(&error));
    }
    ig_error_clear(&error);
    for (size_t i = 0; i < point->row_count; i++) {
        igh_bench_close(state->benches[i]);
    }
    free(state);
    return fine;
}
