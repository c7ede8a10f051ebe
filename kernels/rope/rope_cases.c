/* The cases of rope. n = batch, heads, positions, row, dims, offset; f = base, scale; flags below.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/harness.h"

enum { BATCH, HEADS, LENGTH, ROW, DIMS, OFFSET };
enum {
    INTERLEAVED = 1,
    IDS = 2,        /* positions [S], int32 */
    IDS_BATCH = 4,  /* positions [B, S], int64 */
    TABLE = 8,      /* the caller's tables in float32 */
    TABLE_OWN = 16, /* … in the type of x */
    IN_PLACE = 32,
    ROWS_MIXED = 64, /* memory is [B, S, H, D], and rows are further apart than they are long */
    HUGE = 128,      /* offsets pass 2^31 elements */
    FAR = 256,       /* position ids up to 2^20 */
    OUTSIDE = 512    /* the table ends before the positions do */
};
enum { X, OUT, POSITIONS, COS, SIN, AT }; /* AT: where gradients are taken */
#define TYPE_HALVES (IGH_TYPE(INGOT_SCALAR_F16) | IGH_TYPE(INGOT_SCALAR_BF16))

static const struct igh_case cases[] = {
    {.name = "1x1x1x2", .n = {1, 1, 1, 2, 0, 3}},
    {.name = "2x3x0x8", .n = {2, 3, 0, 8}},
    {.name = "2x3x5x64", .n = {2, 3, 5, 64}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "2x3x5x64 interleaved",
     .n = {2, 3, 5, 64},
     .flags = INTERLEAVED,
     .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "1x2x7x50 of 90", .n = {1, 2, 7, 90, 50, 11}},
    {.name = "1x2x7x50 of 90 interleaved in place",
     .n = {1, 2, 7, 90, 50, 11},
     .flags = INTERLEAVED | IN_PLACE},
    {.name = "3x2x9x128 ids", .n = {3, 2, 9, 128}, .flags = IDS | FAR},
    {.name = "3x2x9x128 ids by batch", .n = {3, 2, 9, 128, 0, -5}, .flags = IDS_BATCH | FAR},
    {.name = "2x8x40x128 ids by batch, mixed rows",
     .n = {2, 8, 40, 128},
     .flags = IDS_BATCH | FAR | ROWS_MIXED},
    {.name = "2x8x40x128 mixed rows interleaved",
     .n = {2, 8, 40, 128, 64},
     .flags = INTERLEAVED | ROWS_MIXED},
    {.name = "1x4x33x96 base 5e5, scale 0.125",
     .n = {1, 4, 33, 96, 0, 1 << 20},
     .f = {500000, 0.125}},
    {.name = "1x8x64x64 at 2^20", .n = {1, 8, 64, 64, 0, (1 << 20) - 64}, .flags = IN_PLACE},
    {.name = "1x4x13x80 table", .n = {1, 4, 13, 80, 48, 2}, .flags = TABLE},
    {.name = "2x4x13x80 table, ids by batch, interleaved",
     .n = {2, 4, 13, 80, 48},
     .flags = TABLE | IDS_BATCH | INTERLEAVED},
    {.name = "2x4x13x80 own table, ids",
     .n = {2, 4, 13, 80},
     .flags = TABLE_OWN | IDS,
     .types = TYPE_HALVES},
    {.name = "1x4x13x66 own table, interleaved",
     .n = {1, 4, 13, 66},
     .flags = TABLE_OWN | INTERLEAVED,
     .types = TYPE_HALVES},
    {.name = "2x8x40x128 table, mixed rows",
     .n = {2, 8, 40, 128, 0, 3},
     .flags = TABLE | ROWS_MIXED},
    {.name = "2x4x37x96 table, ids by batch", .n = {2, 4, 37, 96}, .flags = TABLE | IDS_BATCH},
    {.name = "1x2x13x32 outside the table", .n = {1, 2, 13, 32}, .flags = TABLE | OUTSIDE},
    {.name = "2x2x2x70 huge strides", .n = {2, 2, 2, 70}, .flags = HUGE},
    {.name = "8x32x1x128", .n = {8, 32, 1, 128, 0, 1000}, .uses = IGH_CHECK | IGH_BENCH},
    {.name = "1x8x512x64", .n = {1, 8, 512, 64}, .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE},
    {.name = "1x32x4096x128", .n = {1, 32, 4096, 128}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1x32x4096x128 interleaved",
     .n = {1, 32, 4096, 128},
     .flags = INTERLEAVED,
     .uses = IGH_BENCH | IGH_TUNE},
    {.name = "large 4x32x4096x128",
     .n = {4, 32, 4096, 128},
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
    {.name = "large 4x32x4096x128 table",
     .n = {4, 32, 4096, 128},
     .flags = TABLE,
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
};

static const char *const size_names[] = {"batch", "heads", "length", "row", "dims", "offset", NULL};
static const char *const number_names[] = {"base", "scale", NULL};
static const char *const flag_names[] = {"interleaved", "ids",      "ids_batch",  "table",
                                         "table_own",   "in_place", "rows_mixed", "huge",
                                         "far",         "outside",  NULL};

static bool has(const struct igh_run *run, uint32_t flag) {
    return run->test->flags & flag;
}

static int64_t dims_of(const struct igh_run *run) {
    const int64_t *n = run->test->n;
    return n[DIMS] ? n[DIMS] : n[ROW];
}

/* Rows of the tables: just enough, or too few. */
static int64_t table_rows(const struct igh_run *run) {
    return run->test->n[LENGTH] + run->test->n[OFFSET] + (has(run, OUTSIDE) ? -4 : 20);
}

static void place(struct igh_run *run, int slot) {
    const int64_t *n = run->test->n;
    int64_t row = n[ROW] + 2 + slot;
    if (has(run, ROWS_MIXED)) {
        igh_strides(run, slot, (int64_t[]){n[HEADS] * n[LENGTH] * row, row, n[HEADS] * row, 1}, 3);
    }
    if (has(run, HUGE)) {
        igh_strides(run, slot, (int64_t[]){((int64_t)1 << 31) + 2, 300, 100, 1}, 0);
    }
}

static double angle_of(const struct igh_run *run, double position, int64_t pair) {
    double base = run->test->f[0] != 0 ? run->test->f[0] : 10000;
    double scale = run->test->f[1] != 0 ? run->test->f[1] : 1;
    return position * scale * pow(base, -2.0 * (double)pair / (double)dims_of(run));
}

/* Tables whose rows are two apart in memory. */
static void declare_table(struct igh_run *run, int slot, const char *name) {
    ingot_scalar_type type = has(run, TABLE_OWN) ? run->type : INGOT_SCALAR_F32;
    int64_t shape[] = {table_rows(run), dims_of(run) / 2};
    igh_input(run, slot, name, type, 2, shape, (struct igh_fill){0});
    igh_strides(run, slot, (int64_t[]){2 * shape[1], 1}, 0);
    double *values = malloc((size_t)(shape[0] * shape[1] + 1) * sizeof *values);
    for (int64_t i = 0; values && i < shape[0] * shape[1]; i++) {
        double angle = angle_of(run, (double)(i / shape[1]), i % shape[1]);
        values[i] = slot == COS ? cos(angle) : sin(angle);
    }
    if (values) {
        igh_set(run, slot, values, true);
    }
    free(values);
}

static bool is_backward(const struct igh_run *run);

static void declare(struct igh_run *run) {
    const int64_t *n = run->test->n;
    const struct igh_fill normal = {IGH_NORMAL, 0, 1};
    (has(run, IN_PLACE) ? igh_inout : igh_input)(run, X, "x", run->type, 4, n, normal);
    place(run, X);
    if (!has(run, IN_PLACE)) {
        igh_output(run, OUT, "out", run->type, 4, n);
        place(run, OUT);
    }
    if (is_backward(run) && igh_count(run, X) < 50000) {
        igh_input(run, AT, "x", run->type, 4, n, normal);
    }
    const struct igh_fill ids = {IGH_INTEGER, 0, has(run, FAR) ? 1 << 20 : (double)n[LENGTH]};
    if (has(run, IDS)) {
        igh_input(run, POSITIONS, "positions", INGOT_SCALAR_I32, 1, &n[LENGTH], ids);
    }
    if (has(run, IDS_BATCH)) {
        igh_input(run, POSITIONS, "positions", INGOT_SCALAR_I64, 2,
                  (int64_t[]){n[BATCH], n[LENGTH]}, ids);
    }
    if (has(run, TABLE | TABLE_OWN)) {
        declare_table(run, COS, "cos");
        declare_table(run, SIN, "sin");
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_rope_desc desc = {.x = igh_tensor(run, X),
                                  .out = igh_tensor(run, has(run, IN_PLACE) ? X : OUT),
                                  .positions = igh_tensor(run, POSITIONS),
                                  .cos = igh_tensor(run, COS),
                                  .sin = igh_tensor(run, SIN),
                                  .offset = run->test->n[OFFSET],
                                  .dims = run->test->n[DIMS],
                                  .interleaved = has(run, INTERLEAVED),
                                  .base = run->test->f[0],
                                  .scale = run->test->f[1]};
    return (is_backward(run) ? ingot_op_rope_backward : ingot_op_rope)(run->ops, run->stream,
                                                                       &desc);
}

static double position_of(const struct igh_run *run, int64_t row) {
    const int64_t *n = run->test->n;
    int64_t s = row % n[LENGTH], b = row / n[LENGTH] / n[HEADS];
    double position = has(run, IDS)         ? igh_values(run, POSITIONS)[s]
                      : has(run, IDS_BATCH) ? igh_values(run, POSITIONS)[b * n[LENGTH] + s]
                                            : (double)s;
    return position + (double)n[OFFSET];
}

static void turn_row(const struct igh_run *run, const double *x, double *out, double position,
                     bool back) {
    int64_t dims = dims_of(run), pairs = dims / 2;
    bool interleaved = has(run, INTERLEAVED);
    for (int64_t i = dims; i < run->test->n[ROW]; i++) {
        out[i] = x[i];
    }
    for (int64_t i = 0; i < pairs; i++) {
        int64_t first = interleaved ? 2 * i : i, second = interleaved ? first + 1 : i + pairs;
        double c = cos(angle_of(run, position, i)), s = sin(angle_of(run, position, i));
        if (igh_tensor(run, COS)) {
            bool inside = position >= 0 && position < (double)table_rows(run);
            int64_t at = inside ? (int64_t)position * pairs + i : 0;
            c = inside ? igh_values(run, COS)[at] : NAN;
            s = inside ? igh_values(run, SIN)[at] : NAN;
        }
        s = back ? -s : s;
        double a = x[first], b = x[second];
        out[first] = a * c - b * s;
        out[second] = a * s + b * c;
    }
}

static void turn(const struct igh_run *run, int slot, double *out, bool back) {
    const int64_t row = run->test->n[ROW];
    const double *x = igh_values(run, slot);
    for (int64_t i = 0, count = igh_count(run, slot); i < count; i += row) {
        turn_row(run, x + i, out + i, position_of(run, i / row), back);
    }
}

static void reference(struct igh_run *run) {
    turn(run, X, igh_expected(run, has(run, IN_PLACE) ? X : OUT), is_backward(run));
}

static void forward(const struct igh_run *run, double *out) {
    turn(run, AT, out, false);
}

/* Turning keeps the length of a row. */
static void verify(struct igh_run *run) {
    const int64_t row = run->test->n[ROW], count = igh_count(run, X);
    if (run->specials || has(run, OUTSIDE | TABLE_OWN)) {
        return;
    }
    double *got = igh_got(run, has(run, IN_PLACE) ? X : OUT), worst = 0;
    const double *x = igh_values(run, X);
    for (int64_t i = 0; got && i < count; i += row) {
        double before = 0, after = 0;
        for (int64_t k = i; k < i + row; k++) {
            before += x[k] * x[k];
            after += got[k] * got[k];
        }
        worst = fmax(worst, fabs(sqrt(after / before) - 1));
    }
    igh_metric(run, "change of norms", got ? worst : NAN,
               run->type == INGOT_SCALAR_F32   ? 3e-7
               : run->type == INGOT_SCALAR_F16 ? 1e-3
                                               : 8e-3);
    free(got);
}

/* Two products of values below 3.5, the angle's cosine and sine within an ulp. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    (void)slot;
    return (struct igh_bound){.ulps = run->type == INGOT_SCALAR_F32 ? 1 : 0.6, .absolute = 6e-7};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    double n = (double)igh_count(run, X);
    *bytes = 2 * n * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = 3 * n * (double)dims_of(run) / (double)run->test->n[ROW];
}

#define SUITE(name, ...)                                                                           \
    {.operation = name,                                                                            \
     .types = IGH_FLOATS,                                                                          \
     .cases = cases,                                                                               \
     .case_count = sizeof cases / sizeof *cases,                                                   \
     .size_names = size_names,                                                                     \
     .number_names = number_names,                                                                 \
     .flag_names = flag_names,                                                                     \
     .declare = declare,                                                                           \
     .launch = launch,                                                                             \
     .reference = reference,                                                                       \
     .bound = bound,                                                                               \
     .verify = verify,                                                                             \
     .cost = cost,                                                                                 \
     __VA_ARGS__}
static const struct igh_suite all[] = {
    SUITE("rope", .forward = NULL),
    SUITE("rope_backward", .forward = forward, .upstream = X, .gradients = {{AT, OUT}},
          .gradient_count = 1),
};

static bool is_backward(const struct igh_run *run) {
    return run->suite == &all[1];
}

static const struct igh_suite *const suites[] = {&all[0], &all[1]};
const struct igh_suites igh_suites_rope = {suites, 2};
