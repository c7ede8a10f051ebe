/* The cases of embedding_bag and its backward.
 * n = {rows of the table, columns, bags, entries per bag on average, mode}. */
#include <math.h>
#include <stdlib.h>

#include "harness/harness.h"

enum { TABLE, INDICES, OFFSETS, WEIGHTS, OUT, LARGEST, ERRORS, D_OUT, D_TABLE, D_WEIGHTS };
enum {
    FIXED = 1,
    WITH_WEIGHTS = 2,
    PADDING = 4,
    LAST_OFFSET = 8,
    SMALL_INDICES = 16,
    BAD = 32,
    WIDE = 64,
    EVEN = 128 /* offsets, but all bags of the same length */
};
enum { SUM, MEAN, MAX };

#define BENCHED (IGH_BENCH | IGH_TUNE)
static const struct igh_case cases[] = {
    {.name = "no bags", .n = {10, 8, 0, 0, SUM}},
    {.name = "empty bags", .n = {10, 8, 5, 0, SUM}},
    {.name = "1 row, 1 column", .n = {1, 1, 3, 2, SUM}},
    {.name = "sum", .n = {100, 64, 33, 5, SUM}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "sum, odd columns", .n = {50, 131, 17, 7, SUM}, .flags = SMALL_INDICES},
    {.name = "sum, 119 columns", .n = {50, 119, 17, 7, SUM}},
    {.name = "sum, fixed length", .n = {77, 48, 40, 4, SUM}, .flags = FIXED},
    {.name = "sum, sample weights", .n = {60, 96, 21, 6, SUM}, .flags = WITH_WEIGHTS},
    {.name = "sum, hot rows", .n = {2, 32, 64, 40, SUM}, .flags = LAST_OFFSET},
    {.name = "sum, rows past 2^31", .n = {3, 40, 9, 4, SUM}, .flags = WIDE},
    {.name = "mean, padding", .n = {9, 33, 40, 5, MEAN}, .flags = PADDING},
    {.name = "mean, i32, last offset",
     .n = {200, 260, 19, 9, MEAN},
     .flags = SMALL_INDICES | LAST_OFFSET},
    {.name = "mean, fixed, i32", .n = {40, 128, 12, 3, MEAN}, .flags = FIXED | SMALL_INDICES},
    {.name = "max", .n = {50, 64, 30, 6, MAX}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "max, fixed, padding", .n = {6, 37, 25, 4, MAX}, .flags = FIXED | PADDING},
    {.name = "sum, many of each row", .n = {300, 12, 240, 60, SUM}},
    {.name = "mean, two rows", .n = {2, 70, 30, 11, MEAN}},
    {.name = "bad indices", .n = {20, 16, 10, 5, SUM}, .flags = BAD},
    {.name = "100000x128, 4096 bags of 20", .n = {100000, 128, 4096, 20, SUM}, .uses = BENCHED},
    {.name = "100000x64, 2048 bags of 50, mean",
     .n = {100000, 64, 2048, 50, MEAN},
     .uses = BENCHED},
    {.name = "large 1000000x128, 16384 bags of 64",
     .n = {1000000, 128, 16384, 64, SUM},
     .flags = EVEN,
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
};

static const int64_t *sizes(const struct igh_run *run) {
    return run->test->n;
}

static bool has(const struct igh_run *run, uint32_t flag) {
    return run->test->flags & flag;
}

/* ---- inputs ---- */

/* Bags of random lengths around the average, some of them empty; the last takes what is left. */
static void declare_offsets(struct igh_run *run, ingot_scalar_type type, int64_t entries) {
    int64_t bags = sizes(run)[2], count = bags + has(run, LAST_OFFSET);
    double *starts = calloc((size_t)count + 1, sizeof *starts);
    igh_input(run, OFFSETS, "offsets", type, 1, &count, (struct igh_fill){IGH_CONSTANT, 0, 0});
    for (int64_t i = 0; starts && i < count; i++) {
        starts[i] =
            i == 0 ? 0
            : i == bags
                ? (double)entries
                : fmin((double)entries,
                       starts[i - 1] +
                           (has(run, EVEN)
                                ? (double)sizes(run)[3]
                                : floor(igh_random(run) * 2 * (double)sizes(run)[3] + 0.5)));
    }
    if (starts) {
        igh_set(run, OFFSETS, starts, true);
    }
    free(starts);
}

/* For speed the harness repeats a few thousand values; rows that are read again and again would be
 * in the cache. */
static void spread_indices(struct igh_run *run, int64_t entries) {
    double *rows = run->for_speed ? malloc((size_t)entries * sizeof *rows) : NULL;
    if (!rows) {
        return;
    }
    for (int64_t i = 0; i < entries; i++) {
        rows[i] = floor(igh_random(run) * (double)sizes(run)[0]);
    }
    igh_set(run, INDICES, rows, true);
    free(rows);
}

static void declare_bags(struct igh_run *run) {
    const int64_t *n = sizes(run), entries = n[2] * n[3], fixed[] = {n[2], n[3]};
    ingot_scalar_type type = has(run, SMALL_INDICES) ? INGOT_SCALAR_I32 : INGOT_SCALAR_I64;
    uint32_t rank = has(run, FIXED) ? 2 : 1;
    const int64_t *shape = has(run, FIXED) ? fixed : &entries;
    double reach = has(run, BAD) ? 3 : 0;
    igh_input(run, INDICES, "indices", type, rank, shape,
              (struct igh_fill){IGH_INTEGER, -reach, (double)n[0] + reach});
    spread_indices(run, entries);
    if (!has(run, FIXED)) {
        declare_offsets(run, type, entries);
    }
    if (has(run, WITH_WEIGHTS)) {
        igh_input(run, WEIGHTS, "sample_weights", run->type, rank, shape,
                  (struct igh_fill){IGH_NORMAL, 0, 1});
    }
}

static ingot_bags bags(const struct igh_run *run) {
    return (ingot_bags){
        .indices = igh_tensor(run, INDICES),
        .offsets = igh_tensor(run, OFFSETS),
        .sample_weights = igh_tensor(run, WEIGHTS),
        .mode = (ingot_bag_mode)sizes(run)[4],
        .include_last_offset = has(run, LAST_OFFSET),
        .has_padding = has(run, PADDING),
        .padding_index = -2, /* counted from the end */
    };
}

static void bag_range(const struct igh_run *run, int64_t bag, int64_t *first, int64_t *end) {
    const int64_t *n = sizes(run), entries = n[2] * n[3];
    if (has(run, FIXED)) {
        *first = bag * n[3];
        *end = *first + n[3];
        return;
    }
    const double *starts = igh_values(run, OFFSETS);
    *first = (int64_t)starts[bag];
    *end = bag + 1 < n[2] ? (int64_t)starts[bag + 1] : entries;
}

/* The row that entry i names, or -1 when it does not count. */
static int64_t row_of(const struct igh_run *run, int64_t i) {
    int64_t row = (int64_t)igh_values(run, INDICES)[i], rows = sizes(run)[0];
    return row < 0 || row >= rows || (has(run, PADDING) && row == rows - 2) ? -1 : row;
}

static int64_t bag_size(const struct igh_run *run, int64_t bag) {
    int64_t first, end, count = 0;
    bag_range(run, bag, &first, &end);
    for (int64_t i = first; i < end; i++) {
        count += row_of(run, i) >= 0;
    }
    return count;
}

static double entry_factor(const struct igh_run *run, int64_t bag, int64_t i) {
    int64_t count = sizes(run)[4] == MEAN ? bag_size(run, bag) : 1;
    return (has(run, WITH_WEIGHTS) ? igh_values(run, WEIGHTS)[i] : 1) / (double)(count ? count : 1);
}

/* ---- forward ---- */

static void declare_forward(struct igh_run *run) {
    const int64_t *n = sizes(run), table[] = {n[0], n[1]}, out[] = {n[2], n[1]}, one = 1;
    igh_input(run, TABLE, "table", run->type, 2, table, (struct igh_fill){IGH_NORMAL, 0, 1});
    if (has(run, WIDE)) {
        igh_strides(run, TABLE, (const int64_t[]){((int64_t)1 << 30) + 8, 1}, 0);
    }
    declare_bags(run);
    igh_output(run, OUT, "out", run->type, 2, out);
    if (n[4] == MAX) {
        igh_output(run, LARGEST, "largest", INGOT_SCALAR_I32, 2, out);
    }
    if (has(run, BAD)) {
        igh_inout(run, ERRORS, "errors", INGOT_SCALAR_I32, 1, &one,
                  (struct igh_fill){IGH_CONSTANT, 7, 0});
    }
}

static ingot_status launch_forward(struct igh_run *run) {
    const ingot_embedding_bag_desc desc = {.table = igh_tensor(run, TABLE),
                                           .bags = bags(run),
                                           .out = igh_tensor(run, OUT),
                                           .largest = igh_tensor(run, LARGEST),
                                           .errors = igh_tensor(run, ERRORS)};
    return ingot_op_embedding_bag(run->ops, run->stream, &desc);
}

static void largest_of(const struct igh_run *run, int64_t bag, int64_t column, double *value,
                       int64_t *row) {
    const double *table = igh_values(run, TABLE);
    int64_t first, end;
    bag_range(run, bag, &first, &end);
    *row = -1;
    *value = 0;
    for (int64_t i = first; i < end; i++) {
        int64_t candidate = row_of(run, i);
        double x = candidate < 0 ? 0 : table[candidate * sizes(run)[1] + column];
        if (candidate >= 0 && !isnan(*value) && (*row < 0 || x > *value || isnan(x))) {
            *value = x;
            *row = candidate;
        }
    }
}

static double sum_of(const struct igh_run *run, int64_t bag, int64_t column) {
    const double *table = igh_values(run, TABLE);
    int64_t first, end;
    double sum = 0;
    bag_range(run, bag, &first, &end);
    for (int64_t i = first; i < end; i++) {
        if (row_of(run, i) >= 0) {
            sum += table[row_of(run, i) * sizes(run)[1] + column] * entry_factor(run, bag, i);
        }
    }
    return sum;
}

static void forward(const struct igh_run *run, double *out) {
    const int64_t *n = sizes(run);
    int64_t row;
    for (int64_t bag = 0; bag < n[2]; bag++) {
        for (int64_t column = 0; column < n[1]; column++) {
            if (n[4] == MAX) {
                largest_of(run, bag, column, &out[bag * n[1] + column], &row);
            } else {
                out[bag * n[1] + column] = sum_of(run, bag, column);
            }
        }
    }
}

static void reference_forward(struct igh_run *run) {
    const int64_t *n = sizes(run);
    forward(run, igh_expected(run, OUT));
    for (int64_t i = 0; n[4] == MAX && i < n[2] * n[1]; i++) {
        int64_t row;
        double value;
        largest_of(run, i / n[1], i % n[1], &value, &row);
        igh_expected(run, LARGEST)[i] = (double)row;
    }
    if (has(run, BAD)) {
        double bad = 7;
        for (int64_t i = 0; i < igh_count(run, INDICES); i++) {
            bad += row_of(run, i) < 0;
        }
        igh_expected(run, ERRORS)[0] = bad;
    }
}

/* How many terms the longest sum of the slot has. */
static int64_t most_terms(const struct igh_run *run, int slot) {
    const int64_t *n = sizes(run);
    int64_t most = slot == D_WEIGHTS ? n[1] : 0;
    for (int64_t bag = 0; slot == OUT && bag < n[2]; bag++) {
        most = bag_size(run, bag) > most ? bag_size(run, bag) : most;
    }
    for (int64_t row = 0; slot == D_TABLE && row < n[0]; row++) {
        int64_t count = n[4] == MAX ? n[2] : 0;
        for (int64_t i = 0; n[4] != MAX && i < n[2] * n[3]; i++) {
            count += row_of(run, i) == row;
        }
        most = count > most ? count : most;
    }
    return most;
}

/* A sum of n terms of about 1 (the entries of a bag in their order, which may be the same row again
 * and again) is at most about n on its way, and each addition rounds: n * sqrt(n) half ulps of 1 if
 * the roundings are independent, which is sqrt(n) * 2^-24 of the terms' magnitudes; terms reach 3.
 */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    double terms = 1 + (double)most_terms(run, slot);
    return (struct igh_bound){
        .ulps = slot == LARGEST || slot == ERRORS ? 0 : 0.51,
        .absolute = slot == LARGEST || slot == ERRORS ? 0 : 3 * terms * sqrt(terms) * 0x1p-24};
}

static void cost_forward(const struct igh_run *run, double *bytes, double *flops) {
    const int64_t *n = sizes(run);
    double type = run->type == INGOT_SCALAR_F32 ? 4 : 2, entries = (double)(n[2] * n[3]);
    *bytes = entries * ((double)n[1] * type + 8) + (double)(n[2] * n[1]) * type;
    *flops = entries * (double)n[1];
}

/* ---- backward ---- */

static void set_random(struct igh_run *run, int slot, double low, double high, bool whole) {
    int64_t count = igh_count(run, slot);
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; values && i < count; i++) {
        double x = low + (high - low) * igh_random(run);
        values[i] = whole ? floor(x) : x;
    }
    if (values) {
        igh_set(run, slot, values, false);
    }
    free(values);
}

/* What the forward would have found: the table and the indices get their values here. */
static void set_largest(struct igh_run *run) {
    int64_t columns = sizes(run)[1], count = igh_count(run, LARGEST);
    double *rows = malloc(((size_t)count + 1) * sizeof *rows), value;
    set_random(run, TABLE, -2, 2, false);
    set_random(run, INDICES, 0, (double)sizes(run)[0], true);
    for (int64_t i = 0; rows && i < count; i++) {
        int64_t row;
        largest_of(run, i / columns, i % columns, &value, &row);
        rows[i] = (double)row;
    }
    if (rows) {
        igh_set(run, LARGEST, rows, false);
    }
    free(rows);
}

static void declare_backward(struct igh_run *run) {
    const int64_t *n = sizes(run), table[] = {n[0], n[1]}, out[] = {n[2], n[1]};
    igh_input(run, D_OUT, "d_out", run->type, 2, out, (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_no_specials(run, D_OUT);
    igh_input(run, TABLE, "table", run->type, 2, table, (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_no_specials(run, TABLE);
    declare_bags(run);
    igh_output(run, D_TABLE, "d_table", run->type, 2, table);
    if (has(run, WITH_WEIGHTS)) {
        igh_no_specials(run, WEIGHTS);
        igh_output(run, D_WEIGHTS, "d_sample_weights", run->type, 1, &(int64_t){n[2] * n[3]});
    }
    if (n[4] != MAX) {
        return;
    }
    igh_input(run, LARGEST, "largest", INGOT_SCALAR_I32, 2, out,
              (struct igh_fill){IGH_INTEGER, -1, (double)n[0]});
    if (!run->for_speed) {
        set_largest(run);
    }
}

static ingot_status launch_backward(struct igh_run *run) {
    const ingot_embedding_bag_backward_desc desc = {.d_out = igh_tensor(run, D_OUT),
                                                    .bags = bags(run),
                                                    .table = igh_tensor(run, TABLE),
                                                    .largest = igh_tensor(run, LARGEST),
                                                    .d_table = igh_tensor(run, D_TABLE),
                                                    .d_sample_weights = igh_tensor(run, D_WEIGHTS)};
    return ingot_op_embedding_bag_backward(run->ops, run->stream, &desc);
}

static void reference_max(struct igh_run *run) {
    const int64_t *n = sizes(run);
    const double *d_out = igh_values(run, D_OUT), *rows = igh_values(run, LARGEST);
    for (int64_t i = 0; i < n[2] * n[1]; i++) {
        if (rows[i] >= 0) {
            igh_expected(run, D_TABLE)[(int64_t)rows[i] * n[1] + i % n[1]] += d_out[i];
        }
    }
}

static void reference_backward(struct igh_run *run) {
    const int64_t *n = sizes(run);
    const double *d_out = igh_values(run, D_OUT), *table = igh_values(run, TABLE);
    if (n[4] == MAX) {
        reference_max(run);
        return;
    }
    for (int64_t bag = 0; bag < n[2]; bag++) {
        int64_t first, end;
        bag_range(run, bag, &first, &end);
        for (int64_t i = first; i < end; i++) {
            int64_t row = row_of(run, i);
            double factor = entry_factor(run, bag, i), dot = 0;
            for (int64_t c = 0; row >= 0 && c < n[1]; c++) {
                igh_expected(run, D_TABLE)[row * n[1] + c] += factor * d_out[bag * n[1] + c];
                dot += d_out[bag * n[1] + c] * table[row * n[1] + c];
            }
            if (has(run, WITH_WEIGHTS)) {
                igh_expected(run, D_WEIGHTS)[i] = dot;
            }
        }
    }
}

static void cost_backward(const struct igh_run *run, double *bytes, double *flops) {
    const int64_t *n = sizes(run);
    double type = run->type == INGOT_SCALAR_F32 ? 4 : 2, entries = (double)(n[2] * n[3]);
    *bytes = entries * ((double)n[1] * (type + 8) + 8) + (double)(n[0] * n[1]) * type;
    *flops = 2 * entries * (double)n[1];
}

static const struct igh_suite embedding_bag = {
    .operation = "embedding_bag",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .declare = declare_forward,
    .launch = launch_forward,
    .reference = reference_forward,
    .bound = bound,
    .cost = cost_forward,
};

static const struct igh_suite embedding_bag_backward = {
    .operation = "embedding_bag_backward",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .declare = declare_backward,
    .launch = launch_backward,
    .reference = reference_backward,
    .bound = bound,
    .cost = cost_backward,
    .forward = forward,
    .upstream = D_OUT,
    .gradients = {{TABLE, D_TABLE}, {WEIGHTS, D_WEIGHTS}},
    .gradient_count = 2,
};

static const struct igh_suite *const suites[] = {&embedding_bag, &embedding_bag_backward};
const struct igh_suites igh_suites_embedding_bag = {suites, 2};
